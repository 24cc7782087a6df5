import type { Attributes, AttributeValue } from '../../reading/attribute-value.ts'
import { displayText } from '../../reading/display-text.ts'
import { failureTail } from '../../reading/failure-tail.ts'
import { namespaceOfTree, SpanAttributes } from '../../reading/span-attributes.ts'
import { factsOf } from '../../reading/span-facts.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'
import { type TraceNode, type TraceTree, walkTree } from '../../reading/trace-forest.ts'
import type { LongValue, PromptView, SpanDetail, SpanState, ValuePart } from './api.ts'
import { promptOf, type RequestPrompt } from './request-prompt.ts'
import { spanStory } from './span-story.ts'

/** Characters of a value sent at once. The rest is sent on request. */
const VALUE_CHARS = 20_000
/** Total per span. Beyond it, each further value is cut to a line. */
const SPAN_CHARS = 400_000
const SHORT_CHARS = 500
const PART_CHARS = 256_000
const MAX_EVENTS = 1_000
const MAX_LINKS = 200

export function findNode(tree: TraceTree, spanId: string): TraceNode | undefined {
  for (const { node } of walkTree(tree)) if (node.span.spanId === spanId) return node
  return undefined
}

export function spanDetail(
  node: TraceNode,
  tree: TraceTree,
  openState: SpanState,
  isHere: (traceId: string) => boolean,
): SpanDetail {
  const { span } = node
  const namespace = namespaceOfTree(tree)
  const { kind, name, outcome, isError } = factsOf(node, namespace)
  const cutter = new Cutter()
  const isOpen = span.running === true
  const prompt = promptOf(node, tree)
  const result = new SpanAttributes(span, namespace).rawText('gen_ai.tool.call.result', 'output.value')
  const failure = isError ? failureTail(span.statusMessage ?? '', result) : ''
  const promptView = prompt && cutter.prompt(prompt)
  const attributes = cutter.all(span.attributes)
  return {
    id: span.spanId,
    traceId: span.traceId,
    ...(span.parentSpanId !== undefined && { parentId: span.parentSpanId }),
    kind,
    otelKind: span.kind,
    name,
    startAt: span.startAt,
    endAt: span.endAt,
    state: isOpen ? openState : 'ended',
    status: span.status,
    ...(failure !== '' && { failure }),
    ...(promptView !== undefined && { prompt: promptView }),
    ...(outcome !== undefined && !isOpen && { outcome }),
    namespace,
    attributes,
    ...spanStory({ attributes, namespace, statusMessage: span.statusMessage?.slice(0, VALUE_CHARS) }),
    events: span.events.slice(0, MAX_EVENTS).map(event => ({
      name: displayText(event.name),
      at: event.at,
      attributes: cutter.all(event.attributes),
    })),
    links: span.links.slice(0, MAX_LINKS).map(({ traceId, spanId, attributes }) => ({
      traceId,
      spanId,
      attributes: cutter.all(attributes),
      isHere: isHere(traceId),
    })),
    resource: cutter.all(span.resource),
    scope: displayText([span.scope.name, span.scope.version ?? ''].join(' ')),
  }
}

export function valuePart({ attributes }: StoredSpan, name: string, from: number): ValuePart | undefined {
  if (!Object.hasOwn(attributes, name)) return undefined
  const text = textOf(attributes[name] ?? null)
  return { text: text.slice(from, from + PART_CHARS), from, length: text.length }
}

export function textOf(value: AttributeValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

class Cutter {
  #left = SPAN_CHARS

  all(attributes: Attributes): Record<string, LongValue> {
    // `__proto__` is an ordinary key only in an object without a prototype.
    const cut = Object.create(null) as Record<string, LongValue>
    for (const [name, value] of Object.entries(attributes)) cut[name] = this.#one(value)
    return cut
  }

  prompt({ fresh, ...counts }: RequestPrompt): PromptView {
    return { ...counts, freshCount: fresh.length, fresh: this.#one(JSON.stringify(fresh)) }
  }

  #one(value: AttributeValue): LongValue {
    const text = textOf(value)
    const most = this.#left > 0 ? VALUE_CHARS : SHORT_CHARS
    this.#left -= Math.min(text.length, most)
    return text.length <= most ? { value } : { value: text.slice(0, most), length: text.length }
  }
}
