import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type LoggingOptions, logging, structuredLogging } from '../../../src/guards/builtin/index.ts'
import { PHASE_NAMES } from '../../../src/guards/phases.ts'
import { toolCallOf } from '../../../src/guards/tool-call.ts'
import { Agent } from './steps.ts'

const TOKEN = `ghp_${'a1B2c3D4e5'.repeat(4)}`.slice(0, 40)

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000, toFake: ['Date', 'performance'] })
})

afterEach(() => {
  vi.useRealTimers()
})

async function aTurn(agent: Agent): Promise<void> {
  const tool = toolCallOf({ name: 'bash', arguments: { command: `curl -H ${TOKEN}` }, id: 'c1' })
  await agent.ask('beforeTurn', { prompt: 'Fix the bug.' })
  await agent.ask('beforeModel')
  vi.advanceTimersByTime(1200)
  await agent.ask('afterModel', { toolCalls: [tool], usage: { inputTokens: 12, outputTokens: 3 } })
  await agent.ask('beforeTool', { tool })
  vi.advanceTimersByTime(30)
  await agent.ask('afterTool', { tool, result: { output: 'line one\nline two' } })
  await agent.ask('afterModel', { text: '', error: { type: 'overloaded_error', status: 529, message: 'busy with it' } })
  await agent.ask('afterTurn', { answer: 'Done.' })
}

test('logs a line for each phase: names, kinds, sizes, durations', async () => {
  const agent = new Agent(logging())
  await aTurn(agent)
  expect(agent.lines.map(line => line.replace('hookspan: my-agent: ', ''))).toEqual([
    'before_turn prompt_chars=12',
    'before_model model=qwen3 messages=2 message_chars=21',
    'after_model model=qwen3 text_chars=11 tool_calls=["bash"] input_tokens=12 output_tokens=3 attempt=0 duration_ms=1200',
    'before_tool tool=bash kind=shell tool_call_id=c1 arguments_chars=62',
    'after_tool tool=bash kind=shell tool_call_id=c1 is_error=false result_chars=31 attempt=0 duration_ms=30',
    'after_model model=qwen3 text_chars=0 tool_calls=[] error_type=overloaded_error error_status=529 attempt=0',
    'after_turn answer_chars=5 attempt=0 duration_ms=1230',
  ])
})

async function structured(options: LoggingOptions = {}): Promise<Record<string, unknown>[]> {
  const lines: string[] = []
  const agent = new Agent(structuredLogging({ ...options, write: line => void lines.push(line) }))
  await aTurn(agent)
  expect(agent.lines).toEqual([])
  expect(lines.every(line => !line.includes('\n'))).toBe(true)
  return lines.map(line => JSON.parse(line))
}

test('logs the same as JSON, with the ids', async () => {
  const lines = await structured()
  expect(lines[4]).toEqual({
    time: '2027-01-15T08:00:01.230Z',
    phase: 'after_tool',
    host: 'my-agent',
    session_id: 's1',
    turn_id: 't1',
    tool: 'bash',
    kind: 'shell',
    tool_call_id: 'c1',
    is_error: false,
    result_chars: 31,
    attempt: 0,
    duration_ms: 30,
  })
  expect(lines.map(({ phase }) => phase)).toHaveLength(7)
})

test('logs no text by default', async () => {
  const agent = new Agent(logging())
  await aTurn(agent)
  const all = JSON.stringify([await structured(), agent.lines])
  for (const text of ['Fix the bug', 'Be brief', 'Let me see', 'curl', 'line one', 'busy with it', 'Done'])
    expect(all).not.toContain(text)
})

test('masks texts, on one line, up to 2000 characters, if enabled', async () => {
  const lines = await structured({ content: true })
  const texts = ['prompt', 'messages', 'text', 'arguments', 'result', 'error_message', 'answer']
  const found = texts.map(key => lines.find(line => line[key] !== undefined)?.[key])
  expect(found).toEqual([
    'Fix the bug.',
    '[{"role":"system","text":"Be brief."},{"role":"user","text":"Fix the bug."}]',
    'Let me see.',
    expect.stringMatching(/^\{"command":"curl -H \[REDACTED\]/),
    '{"output":"line one\\nline two"}',
    'busy with it',
    'Done.',
  ])
  const long: string[] = []
  const agent = new Agent(structuredLogging({ content: true, write: line => void long.push(line) }))
  await agent.ask('beforeTurn', { prompt: 'word '.repeat(1000) })
  expect(JSON.parse(long[0]!).prompt.length).toBeLessThanOrEqual(2000)
})

test('logs values that cannot be serialised, too', async () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const agent = new Agent(logging({ content: true }))
  for (const result of [circle, undefined, null, 5n, new Map(), Symbol('x'), () => 5])
    await agent.ask('afterTool', { result })
  expect(agent.lines).toHaveLength(7)
  expect(agent.lines.every(line => line.includes('after_tool tool=bash'))).toBe(true)
})

test('observes every phase', () => {
  for (const hook of [logging(), structuredLogging()]) {
    expect(PHASE_NAMES.every(phase => typeof hook[phase] === 'function')).toBe(true)
    expect(hook.decisions).toEqual([])
  }
})
