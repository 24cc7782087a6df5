import { argumentLines, type DiffLine, diffLines } from '../../reading/argument-lines.ts'
import { type Attributes, isRecord, parseJson } from '../../reading/attribute-value.ts'
import { displayText } from '../../reading/display-text.ts'
import { failureTail } from '../../reading/failure-tail.ts'
import { namespaceOfTree, SpanAttributes, walkSpans } from '../../reading/span-attributes.ts'
import { factsOf } from '../../reading/span-facts.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'
import type { TraceNode, TraceTree } from '../../reading/trace-forest.ts'
import type { LongValue, PromptDiff, PromptView, SpanDetail, SpanState, ValuePart } from './api.ts'
import { spanStory } from './span-story.ts'
import { textOf, type ValueCutter, valueCutter } from './value-cutter.ts'

/**
 * Characters of a value sent at once; the rest is sent on request. Beyond `SPAN_CHARS` per span, each further value is cut to a
 * line.
 */
const VALUE_CHARS = 20_000
const SPAN_CHARS = 400_000
const SHORT_CHARS = 500
const PART_CHARS = 256_000
const MAX_EVENTS = 1_000
const MAX_LINKS = 200

export type PlacedNode = Readonly<{ node: TraceNode; tree: TraceTree }>

/** @param here the linked traces that are in this log */
export function spanDetail(placed: PlacedNode, state: SpanState, here: ReadonlySet<string>): SpanDetail {
  const { node, tree } = placed
  const { span } = node
  const namespace = namespaceOfTree(tree)
  const { kind, name, outcome, isError } = factsOf(node, namespace)
  const cut = valueCutter({ whole: VALUE_CHARS, short: SHORT_CHARS, total: SPAN_CHARS })
  const isOpen = span.running === true
  const result = new SpanAttributes(span, namespace).rawText('gen_ai.tool.call.result', 'output.value')
  const failure = isError ? failureTail(span.statusMessage ?? '', result) : ''
  const prompt = promptOf(placed, cut)
  const attributes = cutAll(span.attributes, cut)
  return {
    id: span.spanId,
    traceId: span.traceId,
    ...(span.parentSpanId !== undefined && { parentId: span.parentSpanId }),
    kind,
    otelKind: span.kind,
    name,
    startAt: span.startAt,
    endAt: span.endAt,
    state: isOpen ? state : 'ended',
    status: span.status,
    ...(failure !== '' && { failure }),
    ...(prompt !== undefined && { prompt }),
    ...(outcome !== undefined && !isOpen && { outcome }),
    namespace,
    attributes,
    ...spanStory(attributes, namespace, span.statusMessage?.slice(0, VALUE_CHARS)),
    events: span.events.slice(0, MAX_EVENTS).map(({ name, at, attributes }) => {
      return { name: displayText(name), at, attributes: cutAll(attributes, cut) }
    }),
    links: span.links.slice(0, MAX_LINKS).map(({ traceId, spanId, attributes }) => {
      return { traceId, spanId, attributes: cutAll(attributes, cut), isHere: here.has(traceId) }
    }),
    resource: cutAll(span.resource, cut),
    scope: displayText([span.scope.name, span.scope.version ?? ''].join(' ')),
  }
}

export function valuePart({ attributes }: StoredSpan, name: string, from: number): ValuePart | undefined {
  if (!Object.hasOwn(attributes, name)) return undefined
  const text = textOf(attributes[name] ?? null)
  return { text: text.slice(from, from + PART_CHARS), from, length: text.length }
}

function cutAll(attributes: Attributes, cut: ValueCutter): Record<string, LongValue> {
  // `__proto__` is an ordinary key only in an object without a prototype.
  const values = Object.create(null) as Record<string, LongValue>
  for (const [name, value] of Object.entries(attributes)) values[name] = cut(value)
  return values
}

function promptOf(placed: PlacedNode, cut: ValueCutter): PromptView | undefined {
  const { request, previous } = requestsOf(placed)
  const messages = request === undefined ? [] : messagesOf(request)
  if (messages.length === 0) return undefined
  const before = previous === undefined ? [] : messagesOf(previous).map(message => JSON.stringify(message))
  const changedAt = messages.findIndex((message, index) => JSON.stringify(message) !== before[index])
  const sameCount = changedAt === -1 ? messages.length : changedAt
  const fresh = messages.slice(sameCount)
  const counts = { sameCount, freshCount: fresh.length, fresh: cut(JSON.stringify(fresh)) }
  return previous === undefined ? counts : { previousId: previous.span.spanId, ...counts }
}

const MAX_DIFF_LINES = 1_000
const CONTEXT_LINES = 2

export function promptDiff(placed: PlacedNode): PromptDiff {
  const { request, previous } = requestsOf(placed)
  if (request === undefined || previous === undefined) return { lines: [] }
  const lines = diffLines(promptLines(previous), promptLines(request))
  const isNear = lines.map(() => false)
  for (const [index, { sign }] of lines.entries()) {
    if (sign !== ' ') isNear.fill(true, Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1)
  }
  const shown = lines.flatMap((line, index): DiffLine[] => {
    if (isNear[index]) return [line]
    return isNear[index - 1] ? [{ sign: ' ', text: '…' }] : []
  })
  const cutCount = shown.length - MAX_DIFF_LINES
  return { lines: shown.slice(0, MAX_DIFF_LINES), ...(cutCount > 0 && { cutCount }) }
}

function promptLines(request: SpanAttributes): string[] {
  const instructions = argumentLines(request.rawText(INSTRUCTIONS))
  return [...instructions, ...messagesOf(request).flatMap(message => argumentLines(JSON.stringify(message)))]
}

const INSTRUCTIONS = 'gen_ai.system_instructions'

/** The instructions are shown once: as such, and not as the first message too. */
function messagesOf(request: SpanAttributes): readonly unknown[] {
  const value = parseJson(request.rawText('gen_ai.input.messages', 'input.value'))
  const messages = Array.isArray(value) ? (value as unknown[]) : []
  const hasInstructions = request.rawText(INSTRUCTIONS) !== ''
  return messages.filter(message => isRecord(message) && !(hasInstructions && message['role'] === 'system'))
}

/** A request, and the one before it in the same turn of the same agent. */
function requestsOf({ node, tree }: PlacedNode) {
  const agents = new Map<TraceNode, TraceNode | undefined>()
  const last = new Map<TraceNode | undefined, SpanAttributes>()
  for (const { node: each, parent, attributes } of walkSpans(tree)) {
    const agent = parent && (agents.get(parent.node) ?? parent.node)
    agents.set(each, attributes.kind === 'session' ? each : agent)
    if (attributes.kind !== 'api') continue
    if (each === node) return { request: attributes, previous: last.get(agent) }
    last.set(agent, attributes)
  }
  return { request: undefined, previous: undefined }
}
