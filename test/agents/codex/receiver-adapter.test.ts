import { appendFileSync, copyFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { CodexAdapter } from '../../../src/agents/codex/receiver-adapter.ts'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import type { ReceiverAdapter } from '../../../src/agents/receiver-adapter.ts'
import { type Folder, lines, START, scratchFolder } from './rollout.ts'

interface Open extends Folder {
  readonly adapter: ReceiverAdapter
  /** How long it has waited, in milliseconds. */
  waited(): number
}

/** @param meanwhile what happens while it waits for the n-th time */
function opened(
  meanwhile: (path: string, times: number) => void = () => undefined,
  folder: Folder = scratchFolder(),
): Open {
  let times = 0
  let waited = 0
  const wait = async (millis: number): Promise<void> => {
    waited += millis
    meanwhile(folder.path, ++times)
  }
  const place = { folders: [folder.home], uid: process.getuid?.() }
  return { ...folder, adapter: new CodexAdapter({ place, wait }), waited: () => waited }
}

/** @param fields of the hook; `at`: when it fired, milliseconds since `START` */
async function eventsOf(
  open: Open,
  event: string,
  { at = 1000, ...data }: { readonly at?: number; readonly [field: string]: unknown } = {},
): Promise<readonly HostEvent[]> {
  const base = { hook_event_name: event, session_id: 's1', turn_id: 't1', transcript_path: open.path }
  const [first] = open.adapter.events({ body: { ...base, ...data }, headers: {}, at: START + at })
  return (await open.adapter.enrich?.(first as HostEvent)) ?? []
}

/** A hook, and what was found for it. */
async function hook(open: Open, event: string, data: Parameters<typeof eventsOf>[2] = {}): Promise<string[]> {
  const found = await eventsOf(open, event, data)
  return found.map(({ event: name, data: said }) => {
    const { call_id, response_id, outcome, goes_on } = said as Record<string, unknown>
    return [name.slice('rollout:'.length), call_id, response_id, outcome, goes_on]
      .filter(word => word !== undefined)
      .join(' ')
  })
}

const asked = lines.begun(0, 't1') + lines.user(5, 'look')
const called = lines.calls(10, 'c1') + lines.used(12, 't1', 'r1')
const done = lines.says(30, 'Done.') + lines.used(32, 't1', 'r2')

test('converts a hook to an event, and ignores any other body', () => {
  const { adapter } = opened()
  const body = { hook_event_name: 'Stop', session_id: 's1' }
  expect(adapter.events({ body, headers: {}, at: 5 })).toEqual([{ event: 'Stop', at: 5, data: body }])
  for (const odd of [undefined, null, 'x', [], {}, { hook_event_name: 7 }, { hook_event_name: 'rollout:read' }]) {
    expect(adapter.events({ body: odd, headers: {}, at: 5 })).toEqual([])
  }
})

test('finds the request of a tool call as soon as it is written', async () => {
  const open = opened((path, times) => {
    if (times === 3) appendFileSync(path, called)
  })
  writeFileSync(open.path, asked)
  expect(await hook(open, 'PreToolUse', { tool_use_id: 'c1' })).toEqual(['call c1', 'answer r1', 'read'])
  expect(open.waited()).toBe(60)
})

test('waits half a second at most', async () => {
  const open = opened()
  writeFileSync(open.path, asked)
  expect(await hook(open, 'PreToolUse', { tool_use_id: 'c1' })).toEqual(['read'])
  expect(open.waited()).toBe(500)
})

test('does not wait without a rollout', async () => {
  const open = opened()
  expect(await hook(open, 'Stop')).toEqual(['read'])
  expect(open.waited()).toBe(0)
})

test('waits for the end of a turn, which is written after its hook', async () => {
  const open = opened(path => appendFileSync(path, lines.over(50, 't1')))
  writeFileSync(open.path, asked + done)
  const found = await eventsOf(open, 'Stop', { last_assistant_message: 'Done.' })
  expect(found.map(({ event }) => event)).toEqual(['rollout:answer', 'rollout:over', 'rollout:read'])
  expect(found[0]?.data).toMatchObject({ started_at: START + 5, ended_at: START + 32, text: 'Done.' })
  expect(found[0]?.data).toMatchObject({ usage: { input_tokens: 120, cached_input_tokens: 20 } })
})

test('recognises a turn that a hook of another program continues', async () => {
  const open = opened()
  writeFileSync(open.path, asked + done + lines.user(40, 'not yet'))
  const said = { last_assistant_message: 'Done.' }
  expect(await hook(open, 'Stop', { at: 35, ...said })).toEqual(['answer r2', 'read true'])
  appendFileSync(open.path, lines.says(50, 'Done.') + lines.used(51, 't1', 'r3') + lines.over(60, 't1'))
  expect(await hook(open, 'Stop', { at: 55, ...said })).toEqual(['answer r3', 'over completed', 'read'])
  expect(open.waited()).toBe(0)
})

test('gives a hook the findings written before it, and an end its own, however late the read', async () => {
  const open = opened()
  const next = lines.begun(60, 't2') + lines.user(61, 'and now') + lines.calls(62, 'c2')
  writeFileSync(open.path, asked + called + lines.output(20, 'c1', 'a.ts') + done + lines.over(50, 't1') + next)
  expect(await hook(open, 'UserPromptSubmit', { at: 2 })).toEqual(['read'])
  expect(await hook(open, 'PreToolUse', { at: 15, tool_use_id: 'c1' })).toEqual(['call c1', 'answer r1', 'read'])
  expect(await hook(open, 'PostToolUse', { at: 19 })).toEqual(['read'])
  const end = { at: 40, last_assistant_message: 'Done.' }
  expect(await hook(open, 'Stop', end)).toEqual(['output c1', 'answer r2', 'over completed', 'read'])
  appendFileSync(open.path, lines.over(80, 't2'))
  expect(await hook(open, 'SessionEnd', { at: 55, turn_id: undefined })).toEqual(['read'])
  expect(await hook(open, 'PreToolUse', { at: 70, turn_id: 't2', tool_use_id: 'c2' })).toEqual(['call c2', 'read'])
  expect(open.waited()).toBe(0)
})

test('skips turns of long ago', async () => {
  const open = opened()
  const old = [1, 2, 3].map(at => lines.begun(at, `old${at}`) + lines.says(at, 'x') + lines.over(at, `old${at}`))
  writeFileSync(open.path, old.join('') + asked + done)
  const found = await eventsOf(open, 'PostToolUse')
  const turns = found.map(({ data }) => (data as { turn_id?: string }).turn_id)
  expect(turns).toEqual(['old3', 'old3', 't1', undefined])
})

test('ends an answer without a token count at the next input or the end of the turn', async () => {
  const open = opened()
  writeFileSync(open.path, asked + lines.calls(10, 'c1') + lines.output(20, 'c1', 'a.ts') + lines.says(30, 'Done.'))
  expect(await hook(open, 'PostToolUse')).toEqual(['call c1', 'answer', 'output c1', 'read'])
  appendFileSync(open.path, lines.over(40, 't1'))
  expect(await hook(open, 'Stop')).toEqual(['answer', 'over completed', 'read'])
})

test('reports a failed request only for a turn that failed while awaiting an answer', async () => {
  const error = {
    message: 'high demand',
    codex_error_info: { response_stream_disconnected: { http_status_code: 503 } },
  }
  const open = opened()
  writeFileSync(open.path, asked + lines.over(50, 't1', { error }))
  const found = await eventsOf(open, 'SessionEnd', { turn_id: undefined })
  expect(found.map(({ event }) => event)).toEqual(['rollout:failure', 'rollout:over', 'rollout:read'])
  const type = 'response_stream_disconnected'
  expect(found[0]?.data).toMatchObject({ status: 503, error: { type, message: 'high demand' }, started_at: START + 5 })
  expect(found[1]?.data).toMatchObject({ outcome: 'failed', reason: type })
  const answered = opened()
  writeFileSync(answered.path, asked + done + lines.over(50, 't1', { error }))
  expect(await hook(answered, 'SessionEnd', { turn_id: undefined })).toEqual(['answer r2', 'over failed', 'read'])
})

test('waits for the rest of a partial line, and skips an invalid one', async () => {
  const open = opened()
  const half = called.length - 20
  writeFileSync(open.path, `${asked}nonsense\n[]\n${called.slice(0, half)}`)
  expect(await hook(open, 'PostToolUse')).toEqual(['call c1', 'read'])
  appendFileSync(open.path, called.slice(half))
  expect(await hook(open, 'PostToolUse')).toEqual(['answer r1', 'read'])
})

test('reads a replaced file from its beginning', async () => {
  const open = opened()
  writeFileSync(open.path, asked + called)
  await hook(open, 'PostToolUse')
  writeFileSync(open.path, asked)
  expect(await hook(open, 'PostToolUse')).toEqual(['read'])
  appendFileSync(open.path, called)
  expect(await hook(open, 'PostToolUse')).toEqual(['call c1', 'answer r1', 'read'])
})

test('finds the open turn again after a restart of the receiver', async () => {
  const first = opened()
  writeFileSync(first.path, asked + called)
  await hook(first, 'PreToolUse', { tool_use_id: 'c1' })
  const second = opened(undefined, first)
  expect(await hook(second, 'PostToolUse')).toEqual(['call c1', 'answer r1', 'read'])
})

test('reads the rollout of a child, which the end of the child names beside that of its parent', async () => {
  const open = opened()
  const child = open.path.replace('s1.jsonl', 'a1.jsonl')
  writeFileSync(open.path, asked)
  writeFileSync(child, lines.begun(1, 'ct') + lines.says(2, 'Seen.') + lines.used(3, 'ct', 'r9') + lines.over(4, 'ct'))
  const data = { turn_id: 'ct', agent_id: 'a1', agent_transcript_path: child }
  const found = await eventsOf(open, 'SubagentStop', data)
  expect(found.map(({ event }) => event)).toEqual(['rollout:answer', 'rollout:over', 'rollout:read'])
  expect(found[0]?.data).toMatchObject({ session_id: 's1', agent_id: 'a1', turn_id: 'ct' })
})

test('finds the call that started a child in the rollout of its parent, which may lag behind', async () => {
  const started = lines.starts(1003, 'c1', 'a1') + lines.output(1004, 'c1', 'started')
  const open = opened((path, times) => {
    if (times === 2) appendFileSync(path, started)
  })
  writeFileSync(open.path, asked + called)
  expect(await hook(open, 'UserPromptSubmit', { at: 2 })).toEqual(['read'])
  const child = { turn_id: 'ct', agent_id: 'a1', transcript_path: join(dirname(open.path), 'rollout-a1.jsonl') }
  expect(await hook(open, 'SubagentStart', child)).toEqual(['call c1', 'answer r1', 'item c1', 'read'])
  expect(open.waited()).toBe(40)
  expect(await hook(open, 'PostToolUse', { at: 1005 })).toEqual(['output c1', 'read'])
})

test('does not wait for a child of a session whose rollout was not read', async () => {
  const open = opened()
  writeFileSync(open.path, asked + called)
  expect(await hook(open, 'SubagentStart', { agent_id: 'a1' })).toEqual(['read'])
  expect(open.waited()).toBe(0)
})

test('reads no other file, whatever path is named', async () => {
  const open = opened()
  const outside = join(open.sessions, '..', 'rollout-x.jsonl')
  writeFileSync(outside, asked + called)
  const link = join(dirname(open.path), 'rollout-link.jsonl')
  symlinkSync(outside, link)
  const unnamed = join(dirname(open.path), 'history.jsonl')
  copyFileSync(outside, unnamed)
  const around = `${open.sessions}/x/../../rollout-x.jsonl`
  for (const transcript_path of [
    outside,
    link,
    unnamed,
    around,
    open.sessions,
    '/etc/passwd',
    7,
    null,
    'rollout-x.jsonl',
  ]) {
    expect(await hook(open, 'PostToolUse', { transcript_path })).toEqual(['read'])
  }
  writeFileSync(open.path, asked + called)
  expect(await hook(open, 'PostToolUse')).toEqual(['call c1', 'answer r1', 'read'])
})

test('reads no rollout for hooks that need none', async () => {
  const open = opened()
  writeFileSync(open.path, asked + called)
  for (const event of ['SessionStart', 'PermissionRequest', 'PreCompact']) {
    expect(await hook(open, event)).toEqual([])
  }
})
