import type { FedSpan, KindName, StatusName } from './fed-span.ts'

/** What every server can say of a span; what it cannot say is left out on both sides of a comparison. */
export interface TreeSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string | undefined
  readonly name: string
  readonly status: StatusName
  readonly kind?: KindName | undefined
  readonly startUnixNano: bigint
  readonly endUnixNano?: bigint | undefined
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
}

export interface TreeTextOptions {
  /** Default true; false for a server that has no kinds. */
  readonly kinds?: boolean
  /** Durations in whole microseconds, which is as exact as the coarsest server. Default false. */
  readonly durations?: boolean
  /** Names of attributes to show where a span has them, in this order. Default: `SHOWN_ATTRIBUTES`. */
  readonly attributes?: readonly string[]
}

/** Few enough to read, and enough to tell two spans of one name apart. */
const SHOWN_ATTRIBUTES: readonly string[] = [
  'openinference.span.kind',
  'session.id',
  'hermes.turn.id',
  'hermes.api.call_count',
  'hermes.api.attempt',
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.output_tokens',
  'gen_ai.tool.call.id',
  'hermes.tool.outcome',
  'hermes.approval.choice',
  'hermes.turn.final_status',
]

export function treeSpan({ status, ...span }: FedSpan): TreeSpan {
  return { ...span, status: status.code }
}

interface Node {
  readonly span: TreeSpan
  readonly children: Node[]
}

/**
 * Traces as text: a span a line, two blanks a level, a blank line between traces. In one order whatever order they came
 * in, and however exact the times are: by microsecond, then by what the text says. Ids of spans are not shown, so the
 * parents are compared by the nesting; a parent that is not there is said.
 */
export function treeText(spans: readonly TreeSpan[], options: TreeTextOptions = {}): string {
  const nodes = new Map<string, Node>(spans.map(span => [idOf(span.traceId, span.spanId), { span, children: [] }]))
  if (nodes.size !== spans.length) throw new Error(`${spans.length - nodes.size} spans are there twice`)
  const roots: Node[] = []
  for (const node of nodes.values()) {
    const { traceId, parentSpanId } = node.span
    const parent = parentSpanId === undefined ? undefined : nodes.get(idOf(traceId, parentSpanId))
    if (parent === undefined) roots.push(node)
    else parent.children.push(node)
  }
  return sorted(roots, '', options).join('\n\n')
}

function idOf(traceId: string, spanId: string): string {
  return `${traceId} ${spanId}`
}

function sorted(nodes: readonly Node[], indent: string, options: TreeTextOptions): string[] {
  return nodes
    .map(node => ({ at: node.span.startUnixNano / 1000n, text: textOf(node, indent, options) }))
    .toSorted((a, b) => (a.at === b.at ? compare(a.text, b.text) : compare(a.at, b.at)))
    .map(({ text }) => text)
}

function compare<Value extends bigint | string>(a: Value, b: Value): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function textOf({ span, children }: Node, indent: string, options: TreeTextOptions): string {
  const line = [indent + span.name, span.status, ...factsOf(span, indent === '', options)].join(' ')
  return [line, ...sorted(children, `${indent}  `, options)].join('\n')
}

function factsOf(span: TreeSpan, isRoot: boolean, options: TreeTextOptions): string[] {
  const { kinds = true, durations = false, attributes = SHOWN_ATTRIBUTES } = options
  const shown = attributes.filter(name => span.attributes?.[name] != null)
  const isOrphan = isRoot && span.parentSpanId !== undefined
  const micros = span.endUnixNano === undefined ? undefined : span.endUnixNano / 1000n - span.startUnixNano / 1000n
  return [
    ...(kinds && span.kind !== undefined ? [span.kind] : []),
    ...(durations && micros !== undefined ? [`${micros}us`] : []),
    ...(isOrphan ? ['(parent missing)'] : []),
    ...shown.map(name => `${name}=${valueText(span.attributes?.[name])}`),
  ]
}

/** A server may give a number back as text. */
function valueText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
