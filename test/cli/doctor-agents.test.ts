import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DoctorScene, section } from './doctor-scene.ts'

let scene: DoctorScene
beforeEach(() => {
  scene = new DoctorScene()
})
afterEach(() => scene.remove())

async function agentsOf(): Promise<{ readonly lines: string[]; readonly last: string; readonly json: unknown }> {
  const diagnosis = await scene.doctor(['--offline'])
  const { stdout } = await scene.doctor(['--offline', '--json'])
  const { agents } = JSON.parse(stdout) as { agents: unknown }
  return {
    lines: section(diagnosis, 'Agents'),
    last: diagnosis.stdout.trimEnd().split('\n').at(-1) ?? '',
    json: agents,
  }
}

describe('the agents of the machine', () => {
  test('are none, and the summary says so', async () => {
    expect(await agentsOf()).toEqual({
      lines: ['  note  none was found → for an agent of your own, see docs/hooks.md'],
      last: 'No problems found, but no agent is set up: run "npx hookspan init".',
      json: [],
    })
  })

  test('are listed if found and not set up, without a change', async () => {
    mkdirSync(join(scene.home, '.codex'))
    const { lines, last, json } = await agentsOf()
    const path = join(scene.home, '.codex')
    expect(lines).toEqual([`  note  codex: found (${path}), not set up → run "npx hookspan init codex"`])
    expect(last).toContain('no agent is set up')
    expect(json).toEqual([{ host: 'codex', found: path, setUp: false, lastSeen: null }])
    expect(readdirSync(path)).toEqual([])
  })

  test('are set up, with the time of the last span', async () => {
    scene.setUpCodex()
    const before = await agentsOf()
    expect(before.lines).toEqual([
      '  ok    codex: set up, no trace of it yet → use it; restart it first if it was running',
    ])
    expect(before.last).toBe('No problems found.')
    await scene.recordTurn('codex')
    expect((await agentsOf()).lines).toEqual(['  ok    codex: set up, last seen 5 m 00 s ago'])
  })

  test('include those that load hookspan in their own code', async () => {
    await scene.recordTurn('my-agent')
    const { lines, last } = await agentsOf()
    expect(lines).toEqual(['  ok    my-agent: last seen 5 m 00 s ago'])
    expect(last).toBe('No problems found.')
  })
})
