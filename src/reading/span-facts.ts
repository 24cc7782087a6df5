import { displayText } from './display-text.ts'
import { type DisplayKind, segment, type TextSegment, type Tone } from './segments.ts'
import { SpanAttributes } from './span-attributes.ts'
import { outcomeOf } from './span-outcome.ts'
import type { StoredSpan } from './stored-span.ts'
import { rangeOf, splitAtGaps } from './time-ranges.ts'
import type { TraceNode } from './trace-forest.ts'

export type Tokens = Readonly<{ input: number | undefined; output: number | undefined }>

export interface SpanFacts {
  readonly kind: DisplayKind
  readonly name: string
  /** `attempt 2`. Shown beside the name, because all attempts of one request share the name. */
  readonly attempt: string
  readonly hint: string
  readonly durationMillis: number
  readonly tokens: Tokens | undefined
  /** Tokens of a request's input that a cache served. Undefined for none. */
  readonly cachedTokens: number | undefined
  readonly cost: number | undefined
  readonly outcome: TextSegment | undefined
  readonly marks: readonly TextSegment[]
  readonly isError: boolean
}

export function factsOf(node: TraceNode, namespace: string): SpanFacts {
  const { span } = node
  const attributes = new SpanAttributes(span, namespace)
  const { kind } = attributes
  // Counted from 0, and displayed from 1. The first attempt is the normal case and is not numbered.
  const retries = attributes.number('.api.attempt') ?? 0
  return {
    kind,
    name: displayText(span.name) || '(no name)',
    attempt: retries > 0 ? `attempt ${retries + 1}` : '',
    hint: hintOf(attributes),
    durationMillis: span.endAt - span.startAt,
    tokens: tokensOf(attributes),
    cachedTokens: isRequest(kind) ? cachedTokensOf(attributes) : undefined,
    cost: isRequest(kind) ? costOf(attributes) : undefined,
    outcome: outcomeOf(attributes),
    marks: marksOf(node, attributes),
    isError: span.status === 'error',
  }
}

const HINT_NAMES: { readonly [Kind in DisplayKind]?: readonly string[] } = {
  session: ['input.value'],
  api: ['gen_ai.request.model', 'llm.model_name'],
  tool: ['.tool.command', '.tool.target', 'input.value', 'gen_ai.tool.call.arguments'],
  subagent: ['.subagent.goal', 'input.value'],
  approval: ['.approval.command', '.approval.description'],
  hook: ['.hook.detail', '.hook.reason', 'error.message'],
  skill: ['.skill.path', '.skill.source'],
  auxiliary: ['gen_ai.request.model', 'llm.model_name'],
}

function hintOf(attributes: SpanAttributes): string {
  const { span, kind } = attributes
  const isOfRequest = isRequest(kind)
  if (span.status === 'error' && isOfRequest && span.statusMessage !== undefined) return displayText(span.statusMessage)
  const hint = attributes.text(...(HINT_NAMES[kind] ?? []))
  if (kind === 'hook') return hint || displayText(attributes.texts('.hook.rewritten_fields').join(', '))
  return isOfRequest && span.name.includes(hint) ? '' : hint
}

export function cachedTokensOf(attributes: SpanAttributes): number | undefined {
  const cached = attributes.number('gen_ai.usage.cache_read.input_tokens', 'llm.token_count.prompt_details.cache_read')
  return cached === undefined || cached <= 0 ? undefined : cached
}

export function isRequest(kind: DisplayKind): boolean {
  return kind === 'api' || kind === 'auxiliary'
}

/** US dollars, as recorded or added by a `SpanPricer`. */
export function costOf(attributes: SpanAttributes): number | undefined {
  const cost = attributes.number('llm.cost.total')
  return cost === undefined || cost < 0 ? undefined : cost
}

/** A session has its turn's totals, under names that backends do not add up a second time. */
export function tokensOf(attributes: SpanAttributes): Tokens | undefined {
  const own = attributes.kind === 'session'
  const input = attributes.number(own ? '.turn.tokens.input' : 'gen_ai.usage.input_tokens', 'llm.token_count.prompt')
  const outputName = own ? '.turn.tokens.output' : 'gen_ai.usage.output_tokens'
  const output = attributes.number(outputName, 'llm.token_count.completion')
  return input === undefined && output === undefined ? undefined : { input, output }
}

function marksOf(node: TraceNode, attributes: SpanAttributes): TextSegment[] {
  const [incomplete, correlation] = [attributes.text('.span.incomplete'), attributes.text('.correlation')]
  const marks: (readonly [Tone, string])[] = [
    ['warn', incomplete && `! ${incomplete}`],
    ['warn', node.orphan && node.awaiting ? '… parent running' : ''],
    ['warn', node.orphan && !node.awaiting ? '? parent missing' : ''],
    ['dim', node.elsewhere ? '↑ parent elsewhere' : ''],
    ['dim', attributes.isTrue('.span.retroactive') ? '~ retroactive' : ''],
    ['dim', correlation && `? ${correlation}`],
  ]
  return marks.filter(([, text]) => text !== '').map(([tone, text]) => segment(tone, text))
}

/** A guardian model decides first: it grants by itself, or escalates to the user, which is a span of its own. */
const GUARDIAN = { choices: new Set(['escalated', 'smart_approve']), surface: 'smart' } as const

export function isApprovalWait(span: StoredSpan, namespace: string): boolean {
  const attributes = new SpanAttributes(span, namespace)
  if (attributes.kind !== 'approval') return false
  if (attributes.text('.approval.surface') === GUARDIAN.surface) return false
  return !GUARDIAN.choices.has(attributes.text('.approval.choice'))
}

export function approvalWaitMillis(spans: Iterable<StoredSpan>, namespace: string): number {
  const waits = [...spans].filter(span => isApprovalWait(span, namespace)).sort((a, b) => a.startAt - b.startAt)
  const joined = splitAtGaps(waits, 0).map(rangeOf)
  return joined.reduce((sum, { startAt, endAt }) => sum + endAt - startAt, 0)
}
