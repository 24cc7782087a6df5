import type { MetricSample, StoredSpan, TestPlugin } from '../../src/testing.ts'
import type { Step } from '../support/feed.ts'

/** The ids of the one turn that most stories are about. */
export const TURN = { session_id: 's1', turn_id: 't1' } as const

/** 0 to 20: the session starts and so does its turn. */
export function began(extra: object = {}): Step[] {
  return [
    [0, 'on_session_start', { session_id: 's1', model: 'qwen3', platform: 'cli', ...extra }],
    [20, 'pre_llm_call', { ...TURN, model: 'qwen3', platform: 'cli', user_message: 'hello', ...extra }],
  ]
}

/** A model request that takes 100 ms. */
export function asked(at: number, start: object = {}, end: object = {}): Step[] {
  const request = { ...TURN, api_request_id: 'r1', model: 'qwen3', provider: 'openai', ...start }
  return [
    [at, 'pre_api_request', request],
    [at + 100, 'post_api_request', { ...request, ...end }],
  ]
}

/** A tool call that takes 50 ms. */
export function used(at: number, start: object = {}, end: object = {}): Step[] {
  const call = { ...TURN, tool_name: 'terminal', tool_call_id: 'c1', args: { command: 'ls' }, ...start }
  return [
    [at, 'pre_tool_call', call],
    [at + 50, 'post_tool_call', { ...call, status: 'ok', result: 'done', ...end }],
  ]
}

/** The answer, and 10 ms later the end of the turn. */
export function answered(at: number, end: object = {}): Step[] {
  return [
    [at, 'post_llm_call', { ...TURN, assistant_response: 'hi there', model: 'qwen3', ...end }],
    [at + 10, 'on_session_end', { ...TURN, completed: true, interrupted: false, ...end }],
  ]
}

/** A child agent is delegated to; `C` is its session. */
export function delegated(at: number, extra: object = {}): Step {
  return [
    at,
    'subagent_start',
    { parent_session_id: 's1', parent_turn_id: 't1', child_session_id: 'C', child_role: 'researcher', ...extra },
  ]
}

/** The whole turn of that child: 100 ms, one request. */
export function childTurn(at: number, child = 'C', turn = 'ct1', usage?: object): Step[] {
  const ids = { session_id: child, turn_id: turn, model: 'small' }
  return [
    [at, 'on_session_start', { session_id: child, model: 'small' }],
    [at + 10, 'pre_llm_call', ids],
    [at + 20, 'pre_api_request', { ...ids, api_request_id: `${turn}-r` }],
    [at + 80, 'post_api_request', { ...ids, api_request_id: `${turn}-r`, usage }],
    [at + 90, 'post_llm_call', ids],
    [at + 100, 'on_session_end', { ...ids, completed: true }],
  ]
}

/** Text that is indented with the code around it. */
export function text(strings: TemplateStringsArray, ...values: readonly unknown[]): string {
  const lines = String.raw({ raw: strings }, ...values)
    .replace(/^\n/, '')
    .trimEnd()
    .split('\n')
  const indent = Math.min(...lines.filter(line => line.trim() !== '').map(line => line.search(/\S/)))
  return lines.map(line => line.slice(indent)).join('\n')
}

export function all(plugin: TestPlugin, name: string): StoredSpan[] {
  return plugin.spans().filter(span => span.name === name)
}

/** The span of that name; a story that has two of them is about something else than it thinks. */
export function only(plugin: TestPlugin, name: string): StoredSpan {
  const [span, ...others] = all(plugin, name)
  if (span === undefined || others.length > 0) {
    throw new Error(`${others.length + Number(span !== undefined)} spans are named ${name}:\n${plugin.tree()}`)
  }
  return span
}

export function attributes(plugin: TestPlugin, name: string): StoredSpan['attributes'] {
  return only(plugin, name).attributes
}

export function parentOf(plugin: TestPlugin, span: StoredSpan): StoredSpan | undefined {
  return plugin.spans().find(({ spanId }) => spanId === span.parentSpanId)
}

/** The series of one instrument. */
export async function series(plugin: TestPlugin, name: string): Promise<MetricSample[]> {
  return (await plugin.metrics()).filter(sample => sample.name === name)
}

/** `kind=cron final_status=completed → 3`: the series of one instrument, sorted, as text to compare. */
export async function seriesText(plugin: TestPlugin, name: string): Promise<string[]> {
  const samples = await series(plugin, name)
  return samples
    .map(({ labels, value }) => {
      const told = Object.entries(labels).map(([key, label]) => `${key}=${label}`)
      return `${told.join(' ')} → ${Number(value.toFixed(6))}`.trim()
    })
    .sort()
}
