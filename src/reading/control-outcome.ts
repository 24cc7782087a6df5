import { type DisplayKind, segment, type TextSegment, type Tone } from './segments.ts'
import type { SpanAttributes } from './span-attributes.ts'

interface VerdictWords {
  readonly tone: Tone
  /** The expected action of the host for this verdict. It is not displayed. */
  readonly action: string
}

const VERDICTS: ReadonlyMap<string, VerdictWords> = new Map<string, VerdictWords>([
  ['pass', { tone: 'dim', action: 'ran' }],
  ['block', { tone: 'warn', action: 'blocked' }],
  ['rewrite', { tone: 'dim', action: 'rewritten' }],
  ['inject', { tone: 'dim', action: 'injected' }],
  ['retry', { tone: 'warn', action: 'retried' }],
  ['ask', { tone: 'warn', action: 'asked' }],
  ['failed', { tone: 'error', action: 'ran' }],
])

/** The decision of a control hook, for its own span and for the tool it blocked; undefined for other spans. */
export function controlOutcome(kind: DisplayKind, attributes: SpanAttributes): TextSegment | undefined {
  if (kind === 'tool') return blockOf(attributes)
  return kind === 'hook' ? verdictOf(attributes) : undefined
}

/** A tool with an outcome of its own was not blocked, even if a hook asked for it. */
function blockOf(attributes: SpanAttributes): TextSegment | undefined {
  const by = attributes.text('.tool.blocked_by')
  if (by === '' || !['', 'blocked'].includes(attributes.text('.tool.outcome'))) return undefined
  return segment('warn', `blocked by ${by}`)
}

/** `block`, `failed: timed_out`, `ask, blocked`, `rewrite, not done`. */
function verdictOf(attributes: SpanAttributes): TextSegment | undefined {
  const verdict = attributes.text('.hook.verdict')
  const words = VERDICTS.get(verdict)
  if (words === undefined) return undefined
  const failure = attributes.text('.hook.failure')
  const action = attributes.text('.hook.action')
  const said = verdict === 'failed' && failure !== '' ? `failed: ${failure}` : verdict
  const isAsMeant = action === '' || action === words.action
  return segment(words.tone, isAsMeant ? said : `${said}, ${action === 'none' ? 'not done' : action}`)
}
