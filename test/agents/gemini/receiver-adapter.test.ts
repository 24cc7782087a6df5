import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import { lines, Scene, timeAt } from './scene.ts'

function names(events: readonly HostEvent[]): string[] {
  return events.map(({ event }) => event)
}

test('uses the timestamp of the hook, and ignores any other body', async () => {
  const { adapter } = new Scene()
  const at = Date.parse(timeAt(1000))
  const told = (body: unknown): readonly HostEvent[] => adapter.events({ body, headers: {}, at })
  expect(told({ hook_event_name: 'AfterAgent', timestamp: timeAt(900) })).toMatchObject([{ at: at - 100 }])
  expect(told({ hook_event_name: 'AfterAgent', timestamp: timeAt(2000) })).toMatchObject([{ at }])
  expect(told({ hook_event_name: 'AfterAgent', timestamp: 'yesterday' })).toMatchObject([{ at }])
  for (const odd of [undefined, null, 'x', [], {}, { hook_event_name: 7 }, { hook_event_name: 'session:read' }]) {
    expect(told(odd)).toEqual([])
  }
})

test('emits each line once, and a partial line when it is complete', async () => {
  const scene = new Scene()
  scene.writes(lines.sent(10, 'go'))
  const half = JSON.stringify(lines.answer(20, 'x'.repeat(100)))
  scene.writes(half.slice(0, 50))
  expect(names(await scene.hook('BeforeTool', 30))).toEqual(['BeforeTool', 'session:sent', 'session:read'])
  scene.writes(`${half.slice(50)}\n`)
  expect(names(await scene.hook('AfterTool', 40))).toEqual(['AfterTool', 'session:answer', 'session:read'])
  expect(names(await scene.hook('AfterAgent', 50))).toEqual(['AfterAgent', 'session:read'])
})

test('skips lines that belong to no conversation, rewrite it, or have no model', async () => {
  const scene = new Scene()
  for (const odd of [
    'no json\n',
    '\n',
    'null\n',
    '[]\n',
    '{}\n',
    '{"$set":{"messages":[]}}\n',
    '{"$rewindTo":"x"}\n',
  ]) {
    scene.writes(odd)
  }
  scene.writes({ ...lines.answer(20), model: undefined })
  scene.writes({ ...lines.answer(20), timestamp: 'x' })
  scene.writes({ ...lines.sent(20), type: 'info', content: 'Update available' })
  expect(names(await scene.hook('AfterAgent', 30))).toEqual(['AfterAgent', 'session:read'])
})

test('finds the files of child agents, and sorts the findings by time', async () => {
  const scene = new Scene()
  scene.writes(lines.sent(10, 'go'))
  scene.writes(lines.sent(20, 'child'), 'agent-1')
  scene.writes(lines.answer(30))
  const told = await scene.hook('BeforeTool', 40)
  expect(told.slice(1, -1).map(({ data }) => (data as { agent_id?: string }).agent_id)).toEqual([
    undefined,
    'agent-1',
    undefined,
  ])
})

test('reads no other file', async () => {
  const scene = new Scene()
  const line = `${JSON.stringify(lines.answer(20))}\n`
  const outside = join(dirname(scene.folder), 'outside.jsonl')
  writeFileSync(outside, line)
  symlinkSync(outside, join(dirname(scene.path), 'link.jsonl'))
  mkdirSync(join(dirname(scene.path), 's1'))
  symlinkSync(outside, join(dirname(scene.path), 's1', 'agent-1.jsonl'))
  writeFileSync(join(scene.folder, 'oauth.jsonl'), line)
  const hostile = [
    outside,
    join(dirname(scene.path), 'link.jsonl'),
    scene.path,
    join(scene.folder, 'oauth.jsonl'),
    `${dirname(scene.path)}/../../../oauth.jsonl`,
    '/dev/zero',
    'session-s1.jsonl',
    7,
  ]
  for (const transcript_path of hostile) {
    expect(names(await scene.hook('AfterAgent', 30, { transcript_path }))).toEqual(['AfterAgent', 'session:read'])
  }
  scene.writes(line)
  for (const session_id of ['../../..', '/etc', 'a/b']) {
    await scene.hook('AfterAgent', 30, { session_id })
  }
  expect(names(scene.events).filter(name => name === 'session:answer')).toHaveLength(1)
})
