import { expect, test } from 'vitest'
import { spansAt } from './application.ts'
import type { Scene } from './scene.ts'

const DOCTOR = ['node_modules/hookspan/dist/cli/main.js', 'doctor', '--json']

/** Whoever instruments every Node of a machine by NODE_OPTIONS instruments our commands, too. */
export function testCommand(scene: Scene): void {
  test("hides the doctor's requests from a package that instruments every program", async () => {
    const { folder, around } = scene
    const args = ['--import', './loader.mjs', '--import', './start-host.mjs', ...DOCTOR]
    const backends = around.ours.map(({ url }, index) => `${index === 0 ? 'otlp' : 'phoenix'}=${url}`).join(',')
    await around
      .run(folder, args, { isAuto: true, stopsAtExit: true, env: { HOOKSPAN_BACKENDS: backends } })
      .catch(() => undefined)
    for (const sink of around.ours) expect(sink.spanNames).toEqual(['hookspan.doctor'])
    expect(around.protobuf.requests.map(({ method }) => method)).toContain('GET')
    expect(around.host.requests.map(({ path }) => path)).toContain('/v1/metrics')
    expect(spansAt(around.host).map(({ name, scope }) => `${scope} ${name}`)).toEqual([])
  })
}
