import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ClaudeCodeAdapter } from '../../../src/agents/claude-code/receiver-adapter.ts'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import type { ReceiverAdapter } from '../../../src/agents/receiver-adapter.ts'
import { play } from './play.ts'
import { START } from './scene.ts'
import { type Folder, lines, scratchFolder, text, use } from './transcript.ts'

interface Open extends Folder {
  readonly inlet: ReceiverAdapter
  /** How long it has waited, in milliseconds. */
  waited(): number
}

/** @param meanwhile what happens while it waits for the n-th time */
function opened(meanwhile: (path: string, times: number) => void = () => undefined): Open {
  const open = unheard(meanwhile)
  const body = { hook_event_name: 'UserPromptSubmit', session_id: 's1', prompt_id: 'p1' }
  open.inlet.events({ body, headers: {}, at: START })
  return open
}

/** One that has not heard of the prompt `p1`. */
function unheard(meanwhile: (path: string, times: number) => void = () => undefined): Open {
  const folder = scratchFolder()
  let times = 0
  let waited = 0
  const wait = async (millis: number): Promise<void> => {
    waited += millis
    meanwhile(folder.path, ++times)
  }
  const place = { folders: [folder.folder], uid: process.getuid?.() }
  return { ...folder, inlet: new ClaudeCodeAdapter({ place, wait }), waited: () => waited }
}

/** A hook, and what was found for it. */
async function hook(open: Open, event: string, at: number, data: object = {}): Promise<string[]> {
  const body = { hook_event_name: event, session_id: 's1', prompt_id: 'p1', transcript_path: open.path, ...data }
  const [first] = open.inlet.events({ body, headers: {}, at: START + at })
  const found = (await open.inlet.enrich?.(first as HostEvent)) ?? []
  return found.map(({ event: name, data: said }) => {
    const { message_id = '', goes_on = '', tool_use_id = '' } = said as Record<string, unknown>
    return `${name.slice('transcript:'.length)} ${message_id}${goes_on}${tool_use_id}`.trim()
  })
}

test('converts a hook to an event and ignores other bodies', () => {
  const { inlet } = opened()
  const body = { hook_event_name: 'Stop', session_id: 's1' }
  expect(inlet.events({ body, headers: {}, at: 5 })).toEqual([{ event: 'Stop', at: 5, data: body }])
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  expect(inlet.events({ body, headers: { traceparent }, at: 5 })).toMatchObject([{ context: { traceparent } }])
  for (const odd of [undefined, null, 'x', [], {}, { hook_event_name: 7 }, { hook_event_name: 'transcript:read' }]) {
    expect(inlet.events({ body: odd, headers: {}, at: 5 })).toEqual([])
  }
})

test('waits for lines that lag', async () => {
  const open = opened((path, times) => {
    if (times === 3) appendFileSync(path, lines.block(8, 'm1', text('Done.')))
    if (times === 5) appendFileSync(path, lines.stopped(12))
  })
  writeFileSync(open.path, lines.prompt(0, 'p1'))
  expect(await hook(open, 'Stop', 10, { last_assistant_message: 'Done.' })).toEqual(['response m1', 'read'])
  expect(open.waited()).toBe(100)
})

test('waits 1.5 s at most, and less after a wait in vain', async () => {
  const open = opened()
  writeFileSync(open.path, lines.prompt(0, 'p1'))
  expect(await hook(open, 'Stop', 10)).toEqual(['read'])
  expect(open.waited()).toBe(1500)
  expect(await hook(open, 'Stop', 20)).toEqual(['read'])
  expect(open.waited()).toBe(1660)
})

test('waits once for a missing transcript', async () => {
  const open = opened()
  expect(await hook(open, 'PreToolUse', 10, { tool_use_id: 't1' })).toEqual(['read'])
  expect(await hook(open, 'PreToolUse', 20, { tool_use_id: 't2' })).toEqual(['read'])
  expect(open.waited()).toBe(500)
})

test('reports the request of a tool at once if it is known', async () => {
  const open = opened()
  writeFileSync(open.path, lines.prompt(0, 'p1') + lines.request(5, 'r1'))
  expect(await hook(open, 'PreToolUse', 10, { tool_use_id: 't1' })).toEqual(['request', 'read'])
  appendFileSync(open.path, lines.block(8, 'm1', use('t1'), { requestRef: 'r1' }))
  expect(await hook(open, 'PostToolBatch', 20)).toEqual(['response m1', 'read'])
  expect(open.waited()).toBe(0)
})

test('does not report earlier turns again', async () => {
  const open = opened()
  const turn = (at: number, id: string): string =>
    lines.prompt(at, `p${id}`) + lines.block(at + 1, `m${id}`, text('So.')) + lines.stopped(at + 2)
  writeFileSync(open.path, turn(0, '-1') + turn(3, '0') + turn(6, '1'))
  expect(await hook(open, 'Stop', 7)).toEqual(['response m0', 'stopped', 'response m1', 'read'])
})

test('reports only prompts whose hook was not received', async () => {
  const open = unheard()
  writeFileSync(open.path, lines.prompt(0, 'p0', 'old') + lines.prompt(3, 'p1', 'look') + lines.stopped(6))
  expect(await hook(open, 'Stop', 5)).toEqual(['prompt', 'read'])
  appendFileSync(open.path, lines.prompt(7, 'p2', 'again') + lines.stopped(9))
  await hook(open, 'UserPromptSubmit', 7, { prompt_id: 'p2' })
  expect(await hook(open, 'Stop', 8, { prompt_id: 'p2' })).toEqual(['read'])
})

test('reports the last turn after a restart of the receiver', async () => {
  const open = unheard()
  const first = lines.prompt(0, 'p0') + lines.block(1, 'm0', text('Old.')) + lines.stopped(2)
  writeFileSync(open.path, first + lines.prompt(3, 'p1') + lines.block(4, 'm1', text('New.')) + lines.stopped(6))
  const start = { prompt_id: undefined, source: 'resume' }
  expect(await hook(open, 'SessionStart', 50, start)).toEqual(['response m1', 'stopped', 'read'])
})

test('reads the rest of an interrupted turn with the next prompt', async () => {
  const open = opened()
  writeFileSync(open.path, lines.prompt(0, 'p1') + lines.request(5, 'r1'))
  await hook(open, 'UserPromptSubmit', 1)
  appendFileSync(open.path, lines.interruption(50))
  expect(await hook(open, 'UserPromptSubmit', 60, { prompt_id: 'p2' })).toEqual(['interrupted', 'read'])
})

test('reports a hook that makes the agent continue', async () => {
  const open = opened()
  writeFileSync(
    open.path,
    lines.prompt(0, 'p1') + lines.block(4, 'm1', text('Done.')) + lines.feedback(6) + lines.stopped(7),
  )
  expect(await hook(open, 'Stop', 5)).toEqual(['response m1', 'read true'])
})

test('reads a child’s answers and its tool call from the child’s files', async () => {
  const open = opened()
  const child = join(open.project, 's1', 'subagents', 'agent-a1.jsonl')
  mkdirSync(dirname(child), { recursive: true })
  writeFileSync(child.replace('.jsonl', '.meta.json'), JSON.stringify({ toolUseId: 't1' }))
  writeFileSync(child, lines.prompt(0, 'p1') + lines.block(4, 'c1', text('Seen.')))
  expect(await hook(open, 'SubagentStart', 1, { agent_id: 'a1' })).toEqual(['agent t1', 'read'])
  const end = { agent_id: 'a1', last_assistant_message: 'Seen.' }
  expect(await hook(open, 'SubagentStop', 5, end)).toEqual(['response c1', 'read'])
  expect(open.waited()).toBe(0)
})

test('reads late lines of a child with the end of the turn', async () => {
  const open = opened()
  const child = join(open.project, 's1', 'subagents', 'agent-a1.jsonl')
  mkdirSync(dirname(child), { recursive: true })
  writeFileSync(open.path, lines.prompt(0, 'p1') + lines.stopped(9))
  writeFileSync(child, lines.prompt(0, 'p1'))
  const end = { agent_id: 'a1', last_assistant_message: 'Seen.' }
  expect(await hook(open, 'SubagentStop', 5, end)).toEqual(['read'])
  appendFileSync(child, lines.block(4, 'c1', text('Seen.')))
  expect(await hook(open, 'Stop', 8)).toEqual(['response c1', 'read'])
})

test('infers a request from its tool if it is written late', async () => {
  const open = opened()
  writeFileSync(open.path, lines.prompt(0, 'p1'))
  expect(await hook(open, 'PreToolUse', 10, { tool_use_id: 't1' })).toEqual(['request', 'read'])
  expect(open.waited()).toBe(1500)
})

test('reads the files at the end of a tool whose start was not received', async () => {
  const open = opened()
  writeFileSync(open.path, lines.prompt(0, 'p1') + lines.request(5, 'r1'))
  expect(await hook(open, 'PostToolUse', 10, { tool_use_id: 't1' })).toEqual(['request', 'read'])
  expect(await hook(open, 'PostToolUse', 11, { tool_use_id: 't1' })).toEqual([])
})

test('does not follow a path outside the folders, and does not throw', async () => {
  const open = opened()
  for (const transcript_path of ['/etc/passwd', '../x.jsonl', 7, undefined, '']) {
    expect(await hook(open, 'SessionEnd', 5, { transcript_path })).toEqual(['read'])
  }
  expect(await hook(open, 'SubagentStart', 5, { agent_id: '../../x' })).toEqual(['read'])
})

test('reads no file for hooks that need none', async () => {
  const open = opened()
  writeFileSync(open.path, lines.prompt(0, 'p1') + lines.block(1, 'm1', text('x')))
  for (const event of ['PostToolUse', 'PermissionRequest', 'Notification']) {
    expect(await hook(open, event, 5)).toEqual([])
  }
})

const BATCH = { tool_calls: [{ tool_use_id: 't1', tool_name: 'Bash' }] }

test('waits at the end of a batch for the answer that asked for its tools, and for results that no hook reported', async () => {
  const open = opened((path, times) => {
    if (times === 2) appendFileSync(path, lines.block(8, 'm1', use('t1')))
    if (times === 4) appendFileSync(path, lines.result(12, 't1', 'p1'))
  })
  writeFileSync(open.path, lines.prompt(0, 'p1'))
  expect(await hook(open, 'PostToolBatch', 20, BATCH)).toEqual(['response m1', 'result t1', 'read'])
  expect(open.waited()).toBe(80)
})

test('does not wait for the result of a tool whose end hook was received', async () => {
  const open = opened()
  writeFileSync(open.path, lines.prompt(0, 'p1') + lines.block(8, 'm1', use('t1')))
  await hook(open, 'PreToolUse', 10, { tool_use_id: 't1' })
  await hook(open, 'PostToolUse', 11, { tool_use_id: 't1' })
  appendFileSync(open.path, lines.result(12, 't1', 'p1'))
  expect(await hook(open, 'PostToolBatch', 20, BATCH)).toEqual(['response m1', 'read'])
  expect(open.waited()).toBe(0)
})

test('infers the request of a tool that only its batch reports', async () => {
  const open = opened()
  writeFileSync(open.path, lines.prompt(0, 'p1'))
  expect(await hook(open, 'PostToolBatch', 20, BATCH)).toEqual(['request', 'read'])
})

test('finds the work of a child without hooks by the result of its call', async () => {
  const open = opened()
  const child = join(open.project, 's1', 'subagents', 'agent-a1.jsonl')
  mkdirSync(dirname(child), { recursive: true })
  writeFileSync(child, lines.block(14, 'm2', use('t2')) + lines.result(16, 't2') + lines.block(18, 'm3', text('ok')))
  const result = lines.result(20, 't1', 'p1', { toolUseResult: { status: 'completed', agentId: 'a1' } })
  writeFileSync(open.path, lines.prompt(0, 'p1') + lines.block(8, 'm1', use('t1')) + result)
  expect(await hook(open, 'PostToolBatch', 30, BATCH)).toEqual([
    ...['response m1', 'agent t1', 'response m2', 'result t2', 'response m3', 'result t1', 'read'],
  ])
})

test('finds the call of a child whose start was lost by its first hook', async () => {
  const open = opened()
  const folder = join(open.project, 's1', 'subagents')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'agent-a1.meta.json'), JSON.stringify({ toolUseId: 't1' }))
  writeFileSync(join(folder, 'agent-a1.jsonl'), lines.block(14, 'm2', use('t2')))
  const child = { agent_id: 'a1', tool_use_id: 't2' }
  expect(await hook(open, 'PreToolUse', 20, child)).toEqual(['agent t1', 'read'])
  expect(await hook(open, 'SubagentStop', 25, { agent_id: 'a1' })).toEqual(['response m2', 'read'])
})

test('counts the hooks that timed out and never arrived', async () => {
  const open = opened()
  const url = { command: 'http://127.0.0.1:27640/claude-code', timeoutMs: 1000 }
  writeFileSync(
    open.path,
    lines.cancelled(-5000, 'PostToolUse', 't0') +
      lines.prompt(0, 'p1') +
      lines.cancelled(1010, 'PostToolUse', 't1') +
      lines.cancelled(1020, 'Stop', 'one', url) +
      lines.cancelled(1030, 'Stop', 'another', { command: 'notify-send', timeoutMs: 1000 }) +
      lines.cancelled(1040, 'PreToolUse', 't2', url) +
      lines.cancelled(1050, 'UserPromptSubmit', 'two', url),
  )
  await hook(open, 'UserPromptSubmit', 55, { prompt_id: 'p2' })
  await hook(open, 'UserPromptSubmit', 1100, { prompt_id: 'p3' })
  expect(open.inlet.lostHooks).toBe(3)
  // It was only late.
  await hook(open, 'PreToolUse', 1200, { tool_use_id: 't2' })
  await hook(open, 'SessionEnd', 9000)
  expect(open.inlet.lostHooks).toBe(2)
})

test('draws tools that ran while no receiver did from the transcript, after a kill in a turn', async () => {
  const killed = opened()
  const events: HostEvent[] = []
  const take = async (
    inlet: ReceiverAdapter,
    hook_event_name: string,
    at: number,
    data: object = {},
  ): Promise<void> => {
    const body = { hook_event_name, session_id: 's1', transcript_path: killed.path, prompt_id: 'p1', ...data }
    for (const event of inlet.events({ body, headers: {}, at: START + at })) {
      events.push(event, ...((await inlet.enrich?.(event)) ?? []))
    }
  }
  const tool = { tool_name: 'Bash', tool_input: { command: 'ls' } }
  writeFileSync(killed.path, lines.prompt(0, 'p1') + lines.request(5, 'r1'))
  await take(killed.inlet, 'UserPromptSubmit', 0, { prompt: 'go' })
  await take(killed.inlet, 'PreToolUse', 20, { ...tool, tool_use_id: 't1' })
  const steps = [1, 2, 3].map(
    number =>
      lines.block(number * 100, `m${number}`, use(`t${number}`)) + lines.result(number * 100 + 50, `t${number}`, 'p1'),
  )
  appendFileSync(killed.path, [...steps, lines.block(400, 'm4', text('Done.')), lines.stopped(410)].join(''))
  const place = { folders: [killed.folder], uid: process.getuid?.() }
  await take(new ClaudeCodeAdapter({ place, wait: async () => undefined }), 'SessionStart', 900, { source: 'resume' })
  const { tree, leftOpen } = await play(events)
  expect(leftOpen).toBe(0)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=100]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude OK (inferred) [gen_ai.usage.input_tokens=100]
          tool.Bash OK (inferred) [hermes.tool.outcome=completed]
        api.claude OK (inferred) [gen_ai.usage.input_tokens=100]
          tool.Bash OK (inferred) [hermes.tool.outcome=completed]
        api.claude OK (inferred) [gen_ai.usage.input_tokens=100]"
  `)
})
