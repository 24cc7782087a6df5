import { chmodSync, mkdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { blocks, read, section } from '../support/pages.ts'
import { DoctorScene } from './doctor-scene.ts'
import type { TraceServer } from './doctor-server.ts'

let scene: DoctorScene
let server: TraceServer
beforeEach(async () => {
  scene = new DoctorScene()
  server = await scene.traceServer()
})
afterEach(() => scene.remove())

describe('docs/commands.md', () => {
  const page = section(read('docs/commands.md'), 'hookspan doctor')

  /** The words without what differs from one machine and run to the next. */
  function shape(text: string): string {
    return text
      .split('\n')
      .map(line => line.trimEnd().replace(/ {2,}(?=\S)/g, '  '))
      .join('\n')
      .replace(/\/\S*\/(config\.yaml|hookspan|\.cursor)\b/g, 'PATH/$1')
      .replace(/127\.0\.0\.1:\d+/g, 'HOST')
      .replace(/\d+(\.\d+)?/g, 'N')
      .replace(/N(?: [KMGT]?B\b| m?s\b| [hm] N [ms]\b)/g, 'N UNIT')
  }

  test('shows the output as its sample', async () => {
    const dead = await scene.deadUrl()
    scene.setUpCodex()
    mkdirSync(`${scene.home}/.cursor`)
    await scene.recordTurn('codex')
    scene.put('.local/state/hookspan/traces/1-2.jsonl', 'x'.repeat(1_200_000))
    for (const directory of [scene.state, `${scene.state}/traces`]) chmodSync(directory, 0o700)
    scene.configure(
      `backends:\n  - type: phoenix\n    endpoint: ${server.url}\n  - type: otlp\n    endpoint: ${dead}\n`,
    )
    const { stdout } = await scene.doctor()
    const [sample = ''] = blocks(page, 'text')
    expect(shape(stdout)).toBe(shape(sample))
  })

  test('has every option and every field', async () => {
    const { stdout: usage } = await scene.doctor(['--help'])
    for (const option of usage.replace(/^.*--help.*$/m, '').match(/--[a-z]+/g) ?? []) expect(page).toContain(option)
    const report = JSON.parse((await scene.doctor(['--json', '--backend', `phoenix=${server.url}`])).stdout)
    const fields = [...Object.keys(report), ...Object.keys(report.backends[0]), ...Object.keys(report.config)]
    for (const field of fields) expect(page, field).toContain(`\`${field}\``)
  })
})
