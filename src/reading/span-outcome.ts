import { displayText } from './display-text.ts'
import { type DisplayKind, segment, type TextSegment, type Tone } from './segments.ts'
import type { SpanAttributes } from './span-attributes.ts'

const WORDS: ReadonlyMap<string, Tone> = new Map<string, Tone>([
  ...toned('ok', ['completed', 'ok', 'success', 'done', 'once', 'session', 'always', 'smart_approve']),
  ...toned('error', ['failed', 'failure', 'error', 'errored', 'crashed']),
  ...toned('warn', ['blocked', 'cancelled', 'canceled', 'timeout', 'timed_out', 'timed out', 'interrupted']),
  ...toned('warn', ['incomplete', 'deny', 'denied', 'length', 'max_tokens', 'content_filter', 'refusal', 'reset']),
])

function toned(tone: Tone, words: readonly string[]): (readonly [string, Tone])[] {
  return words.map(word => [word, tone] as const)
}

export function outcomeOf(attributes: SpanAttributes): TextSegment | undefined {
  if (attributes.span.running === true) return segment('warn', 'running')
  const decided = controlOutcome(attributes)
  if (decided !== undefined) return decided
  const word = OUTCOMES[attributes.kind]?.(attributes) ?? ''
  if (attributes.span.status === 'error') return segment('error', errorText(attributes, word))
  return word === '' ? undefined : segment(WORDS.get(word.toLowerCase()) ?? 'dim', word)
}

const OUTCOMES: { readonly [Kind in DisplayKind]?: (attributes: SpanAttributes) => string } = {
  session: attributes => attributes.text('.turn.final_status'),
  api: finishReason,
  tool: attributes => attributes.text('.tool.outcome'),
  subagent: attributes => attributes.text('.subagent.status'),
  approval: attributes =>
    attributes.isTrue('.approval.timed_out') ? 'timed out' : attributes.text('.approval.choice'),
  skill: attributes => attributes.text('.skill.result_status'),
  auxiliary: finishReason,
}

function finishReason(attributes: SpanAttributes): string {
  const reason = attributes.text('gen_ai.response.finish_reason', 'llm.finish_reason')
  return reason || displayText(attributes.texts('gen_ai.response.finish_reasons')[0] ?? '')
}

/** The error type of a tool that reports its failure without a type. */
const PLAIN_FAILURE = 'tool_error'

/**
 * `429 RateLimitError`, `FileNotFoundError`, `timeout ETIMEDOUT`, `failed`: the status code or word, then the error
 * type. `error FileNotFoundError` would name the failure twice.
 */
function errorText(attributes: SpanAttributes, word: string): string {
  const code = attributes.text('http.response.status_code', 'gen_ai.response.status_code')
  const type = attributes.text('error.type')
  if (type === PLAIN_FAILURE && ['', 'error'].includes(word)) return 'failed'
  const isRepeated = type.toLowerCase().includes(word.toLowerCase())
  const parts = [code || (isRepeated ? '' : word), type].filter(part => part !== '' && part !== '_OTHER')
  if (parts.length > 0) return [...new Set(parts)].join(' ')
  return displayText(attributes.span.statusMessage ?? '') || 'error'
}

/** The tone of a verdict, and the expected action of the host for it, which is not displayed. */
const VERDICTS: ReadonlyMap<string, readonly [Tone, string]> = new Map<string, readonly [Tone, string]>([
  ['pass', ['dim', 'ran']],
  ['block', ['warn', 'blocked']],
  ['rewrite', ['dim', 'rewritten']],
  ['inject', ['dim', 'injected']],
  ['retry', ['warn', 'retried']],
  ['ask', ['warn', 'asked']],
  ['failed', ['error', 'ran']],
])

export function controlOutcome(attributes: SpanAttributes): TextSegment | undefined {
  if (attributes.kind === 'tool') return blockOf(attributes)
  return attributes.kind === 'hook' ? verdictOf(attributes) : undefined
}

/** A tool with an outcome of its own was not blocked, even if a hook asked for it. */
function blockOf(attributes: SpanAttributes): TextSegment | undefined {
  const by = attributes.text('.tool.blocked_by')
  if (by === '' || !['', 'blocked'].includes(attributes.text('.tool.outcome'))) return undefined
  return segment('warn', `blocked by ${by}`)
}

/** `block`, `failed: timed_out`, `ask, blocked`, `rewrite, not applied`. */
function verdictOf(attributes: SpanAttributes): TextSegment | undefined {
  const verdict = attributes.text('.hook.verdict')
  const [tone, expected] = VERDICTS.get(verdict) ?? []
  if (tone === undefined) return undefined
  const failure = attributes.text('.hook.failure')
  const action = attributes.text('.hook.action')
  const said = verdict === 'failed' && failure !== '' ? `failed: ${failure}` : verdict
  const isAsMeant = action === '' || action === expected
  return segment(tone, isAsMeant ? said : `${said}, ${action === 'none' ? 'not applied' : action}`)
}
