import { readFileSync } from 'node:fs'
import type { ReceivedSpan } from './otlp-spans.mjs'

/** A hook that a host was about to fire. */
export interface WitnessLine {
  /** Epoch milliseconds; the hook carried the same. */
  readonly at: number
  /** `saved` is none: see `savedUntil`. */
  readonly hook: string
  /** Names the span: its kind and what it carries, as `spanKey` reads it. */
  readonly key: string
}

/** What a span must look like, by what its host has told. */
export interface ToldSpan {
  readonly key: string
  readonly startAt: number
  /** Absent = it was open when the host ended. */
  readonly endAt?: number
  /** The end of its turn ended it. */
  readonly isCut: boolean
}

const STARTS: ReadonlySet<string> = new Set([
  'on_session_start',
  'pre_llm_call',
  'pre_auxiliary_call',
  'pre_api_request',
  'pre_tool_call',
  'pre_approval_request',
  'subagent_start',
])
const ENDS: ReadonlySet<string> = new Set([
  'on_session_end',
  'post_llm_call',
  'post_auxiliary_call',
  'post_api_request',
  'api_request_error',
  'post_tool_call',
  'post_approval_response',
  'subagent_stop',
])

/** Without a last line that the host could not finish. */
export function readWitness(path: string): WitnessLine[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map(line => JSON.parse(line) as WitnessLine)
}

const known = new WeakMap<readonly WitnessLine[], ReadonlyMap<string, ToldSpan>>()

/** By key. */
export function toldSpans(lines: readonly WitnessLine[]): ReadonlyMap<string, ToldSpan> {
  const spans = known.get(lines) ?? readTold(lines)
  known.set(lines, spans)
  return spans
}

function readTold(lines: readonly WitnessLine[]): Map<string, ToldSpan> {
  const spans = new Map<string, ToldSpan>()
  for (const { at, hook, key } of lines) {
    if (STARTS.has(hook)) spans.set(key, { key, startAt: at, isCut: false })
    const open = ENDS.has(hook) ? spans.get(key) : undefined
    if (open) spans.set(key, { ...open, endAt: at, isCut: hook === 'on_session_end' && !key.startsWith('session ') })
  }
  return spans
}

/** Keys of the spans that records of the host ended, in order. */
export function endedKeys(lines: readonly WitnessLine[]): string[] {
  return lines.flatMap(({ hook, key }) => (ENDS.has(hook) ? [key] : []))
}

/**
 * What a host had told at this time could have been on the disk when it was killed: its log was open, and a write that it
 * began then, after waiting for longer than `log_flush_ms`, had come to its end. On a busy machine that is long before the
 * kill.
 */
export function savedUntil(lines: readonly WitnessLine[]): number {
  return Number(lines.findLast(({ hook }) => hook === 'saved')?.key ?? Number.NEGATIVE_INFINITY)
}

const KEY_ATTRIBUTE: Readonly<Record<string, string>> = {
  session: 'hermes.turn.id',
  llm: 'hermes.turn.id',
  api: 'gen_ai.request.model',
  auxiliary: 'gen_ai.request.model',
  tool: 'gen_ai.tool.call.id',
  approval: 'gen_ai.tool.call.id',
  subagent: 'hermes.subagent.child_session_id',
}

/** The key that the witness calls this span by. */
export function spanKey({ attributes }: Pick<ReceivedSpan, 'attributes'>): string {
  const kind = String(attributes['hermes.span.kind'])
  return `${kind} ${String(attributes[KEY_ATTRIBUTE[kind] ?? ''])}`
}
