import type { Plugin } from '../../src/index.ts'
import type { MetricSample } from '../../src/testing.ts'
import { type FedRecord, recording } from '../support/feed.ts'

const OPEN = { session_id: 'open', turn_id: 'open' }
const OPEN_AT = 1_795_257_600_000
const HOOK = { ...OPEN, tool_call_id: 'c', hook_run_id: 'h', hook_name: 'no-rm', hook_phase: 'before_tool' }

/** The bundled recordings, and a turn that stays open in which a tool is started twice, and a control hook fails. */
const RECORDS: readonly FedRecord[] = [
  ...recording('hermes-turn.jsonl'),
  ...recording('demo-session.jsonl'),
  { hook: 'on_session_start', at: OPEN_AT, payload: OPEN },
  { hook: 'pre_tool_call', at: OPEN_AT + 1, payload: { ...OPEN, tool_name: 'terminal', tool_call_id: 'c' } },
  { hook: 'pre_tool_call', at: OPEN_AT + 2, payload: { ...OPEN, tool_name: 'terminal', tool_call_id: 'c' } },
  { hook: 'pre_control_hook', at: OPEN_AT + 3, payload: HOOK },
  { hook: 'post_control_hook', at: OPEN_AT + 8, payload: { ...HOOK, verdict: 'failed', failure: 'threw' } },
]

/** Of every token a millionth of a dollar. */
export const PRICES = { '*': { input: 1, output: 1 } } as const

export function feedAll(plugin: Plugin): void {
  for (const { hook, payload, ...meta } of RECORDS) plugin.emitUntyped(hook, payload, meta)
}

function payloads(...hooks: string[]): Record<string, unknown>[] {
  return RECORDS.filter(({ hook }) => hooks.includes(hook)).map(({ payload }) => payload as Record<string, unknown>)
}

function tokens(field: string): number {
  return payloads('post_api_request', 'post_auxiliary_call')
    .map(({ usage }) => Number((usage as Record<string, unknown> | undefined)?.[field] ?? 0))
    .reduce((sum, value) => sum + value, 0)
}

/** Their turns are judged with those that they are part of. */
const CHILDREN = new Set(payloads('subagent_start').map(({ child_session_id: id }) => id))

/** Sums that can be read off the records, by the names that Prometheus stores. */
export const FED: Readonly<Record<string, number>> = {
  hermes_tokens_input_total: tokens('prompt_tokens'),
  hermes_tokens_output_total: tokens('output_tokens'),
  hermes_tokens_cache_read_total: tokens('cache_read_tokens'),
  hermes_tokens_cache_write_total: tokens('cache_write_tokens'),
  hermes_tokens_reasoning_total: tokens('reasoning_tokens'),
  hermes_cost_total: (tokens('prompt_tokens') + tokens('output_tokens')) / 1e6,
  hermes_tool_calls_total: payloads('post_tool_call').length,
  hermes_sessions_total: payloads('on_session_end').length,
  hermes_sampling_turns_total: payloads('on_session_end').filter(({ session_id: id }) => !CHILDREN.has(id)).length,
  hermes_approval_count_total: payloads('post_approval_response').length,
  hermes_subagent_count_total: payloads('subagent_stop').length,
  hermes_api_error_count_total: payloads('api_request_error').length,
  hermes_hook_runs_total: payloads('post_control_hook').length,
  hookspan_hooks_total: RECORDS.length,
  hookspan_turns_open: 1,
  hookspan_spans_open: 2,
  hookspan_spans_incomplete_total: 1,
}

/** A series as Prometheus stores it: its name, its labels without those of the target, its value. */
export interface ExpectedSeries {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Of counters and gauges one, of histograms their sum and their count. */
export function seriesOf({ name, labels, value, count }: MetricSample, isCounter: boolean): ExpectedSeries[] {
  const base = name.replaceAll('.', '_')
  const spelled = Object.fromEntries(Object.entries(labels).map(([key, text]) => [key.replaceAll('.', '_'), text]))
  if (count === undefined) return [{ name: isCounter ? `${base}_total` : base, labels: spelled, value }]
  return [
    { name: `${base}_sum`, labels: spelled, value },
    { name: `${base}_count`, labels: spelled, value: count },
  ]
}
