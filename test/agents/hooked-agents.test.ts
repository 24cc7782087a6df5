/** Cursor and GitHub Copilot CLI: agents whose hooks tell of prompts and tools alone. */
import { expect, test } from 'vitest'
import { CopilotMachine } from '../../src/agents/copilot/events.ts'
import { copilot } from '../../src/agents/copilot/receiver-adapter.ts'
import { cursor } from '../../src/agents/cursor/receiver-adapter.ts'
import type { HostEvent } from '../../src/agents/host-event.ts'
import fc from '../support/fast-check.ts'
import { times } from '../support/sample.ts'
import { reportedOfSpoilt } from './expect-sound.ts'
import { fixturesOf, replayEvents } from './replay-fixture.ts'

const START = 1_795_410_000_000
const HOSTS = ['cursor', 'copilot']

function ofCursor(at: number, event: string, data: object = {}): HostEvent {
  return { event, at: START + at, data: { conversation_id: 'c', generation_id: 'g', hook_event_name: event, ...data } }
}

function ofCopilot(at: number, event: string, data: object = {}): HostEvent {
  return { event, at: START + at, data: { session_id: 's', hook_event_name: event, ...data } }
}

/** Tools as they were drawn: name, from and to, and what was returned. */
async function toolsOf(host: string, events: readonly HostEvent[]): Promise<unknown[]> {
  const { plugin } = await replayEvents(host, events)
  const tools = plugin.spans().filter(({ name }) => name.startsWith('tool.'))
  return tools.map(({ name, startAt, endAt, attributes }) => {
    return [name, startAt - START, endAt - START, attributes['output.value']]
  })
}

const shell = { tool_name: 'Shell', tool_input: { command: 'ls' }, tool_use_id: 't1' }

test.each([
  ['the hook for all tools first', ['preToolUse', 'beforeShellExecution', 'afterShellExecution', 'postToolUse']],
  ['the hook of its kind first', ['beforeShellExecution', 'preToolUse', 'afterShellExecution', 'postToolUse']],
  ['ended by that of its kind last', ['preToolUse', 'beforeShellExecution', 'postToolUse', 'afterShellExecution']],
])("merges a call of Cursor's that two kinds of hooks report: %s", async (_, order) => {
  const fields = { ...shell, tool_output: 'ok', command: 'ls', output: 'ok' }
  const events = order.map((event, index) => ofCursor(10 + 10 * index, event, fields))
  const tools = await toolsOf('cursor', [
    ofCursor(0, 'beforeSubmitPrompt', { prompt: 'x' }),
    ...events,
    ofCursor(90, 'stop'),
  ])
  expect(tools.map(([name]: any) => name)).toEqual(['tool.Shell'])
})

test('ends the first of equal calls without ids', async () => {
  const call = { tool_name: 'Bash', tool_input: { command: 'ls', cwd: '/a' } }
  // The same, otherwise ordered.
  const same = { tool_name: 'Bash', tool_input: { cwd: '/a', command: 'ls' } }
  const result = (text: string): object => ({ tool_result: { text_result_for_llm: text } })
  const events = [
    ofCopilot(0, 'UserPromptSubmit', { prompt: 'x' }),
    ofCopilot(10, 'PreToolUse', call),
    ofCopilot(20, 'PreToolUse', { ...call, tool_input: { command: 'pwd' } }),
    ofCopilot(30, 'PreToolUse', same),
    ofCopilot(40, 'PostToolUse', { ...same, ...result('first') }),
    ofCopilot(50, 'PostToolUse', { ...call, ...result('second') }),
    ofCopilot(60, 'Stop'),
  ]
  expect((await toolsOf('copilot', events)).toSorted()).toEqual([
    ['tool.Bash', 10, 40, 'first'],
    ['tool.Bash', 20, 60, undefined],
    ['tool.Bash', 30, 50, 'second'],
  ])
})

test('reads the arguments of a running call once for all ends without ids', () => {
  let reads = 0
  const input = {
    get command() {
      reads += 1
      return 'sleep 9'
    },
  }
  const machine = new CopilotMachine()
  machine.accept(ofCopilot(0, 'PreToolUse', { tool_name: 'Bash', tool_input: input }))
  for (const at of [10, 20, 30]) machine.accept(ofCopilot(at, 'PostToolUse', { tool_name: 'Bash', tool_input: { at } }))
  machine.end(START + 40)
  expect(reads).toBe(1)
})

test('uses the agent’s own time if it is plausible', async () => {
  const timestamp = new Date(START + 5).toISOString()
  const { plugin } = await replayEvents('copilot', [
    ofCopilot(9, 'UserPromptSubmit', { prompt: 'x', timestamp }),
    ofCopilot(20, 'Stop', { timestamp: 'tomorrow' }),
  ])
  const [root] = plugin.spans().filter(({ name }) => name === 'agent')
  expect([root?.startAt, root?.endAt]).toEqual([START + 5, START + 20])
})

test('counts a body without a hook name and ignores other values', async () => {
  for (const [host, inlet] of Object.entries({ cursor, copilot })) {
    const body = { sessionId: 's', toolName: 'bash', toolArgs: {} }
    const events = inlet.events({ body, headers: {}, at: START })
    expect((await replayEvents(host, events)).plugin.stats().hooks).toMatchObject({ ignored: 1 })
    for (const odd of [undefined, null, 'x', 7]) expect(inlet.events({ body: odd, headers: {}, at: START })).toEqual([])
  }
})

test('accepts the hook names of Cursor’s command line', () => {
  const body = { hookEventName: 'stop' }
  expect(cursor.events({ body, headers: {}, at: 5 })).toEqual([{ event: 'stop', at: 5, data: body }])
})

test.each(HOSTS)('survives any events in any order, with any fields: %s', async host => {
  const all = fixturesOf(host).flatMap(({ events }) => events)
  const odd = fc.oneof(fc.constant(undefined), fc.anything({ maxDepth: 2 }))
  const event = fc.tuple(fc.constantFrom(...all), fc.option(fc.tuple(fc.nat(20), odd))).map(([one, change]) => {
    if (change === null) return one
    const [pick, value] = change
    const data = { ...(one.data as object) }
    const keys = Object.keys(data)
    return { ...one, data: { ...data, [keys[pick % keys.length] ?? '']: value } }
  })
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40 }), async events => {
      const { plugin } = await replayEvents(host, events)
      expect(plugin.stats()).toMatchObject({ spansOpen: 0, hooks: { error: 0 } })
      expect(reportedOfSpoilt(plugin)).toEqual([])
    }),
    { numRuns: times(20, 300) },
  )
})
