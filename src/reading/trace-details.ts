import type { Attributes, AttributeValue } from './attribute-value.ts'
import { displayLines, displayText } from './display-text.ts'
import { displayWidth, padEndToWidth, wrapToWidth } from './display-width.ts'
import { humanCount, humanDuration, humanInstant } from './human-figures.ts'
import { clipSegments, joinSegments, type Line, paintLine, segment, type TextSegment } from './segments.ts'
import { namespaceOfTree } from './span-attributes.ts'
import { factsOf } from './span-facts.ts'
import type { StoredSpan } from './stored-span.ts'
import { asOf, type TraceNode, type TraceTree, type TreeStep, walkTree } from './trace-forest.ts'
import type { TreeTextOptions } from './tree-text.ts'

type Lines = Generator<Line, void>

const MAX_CHARS = 4_000
const MAX_LINES = 40
const INDENT = 2
const MIN_VALUE = 20

/**
 * Renders every span of a trace in tree order with all its stored data, one name and value a line. No line is wider than `width`,
 * and no text contains terminal controls.
 */
export function* renderDetails(stored: TraceTree, options: TreeTextOptions = {}): Generator<string, void> {
  const { color = false, now } = options
  const width = Math.max(MIN_VALUE, options.width ?? 100)
  const tree = asOf(stored, now)
  const namespace = namespaceOfTree(tree)
  let resource: string | undefined
  for (const step of walkTree(tree)) {
    const { node } = step
    const lines = [...spanLines(step, tree, namespace, width)]
    const ofSpan = JSON.stringify([node.span.resource, node.span.scope])
    if (ofSpan !== resource) lines.push(...resourceLines(node.span, width))
    resource = ofSpan
    yield lines.map(line => paintLine(line, color)).join('\n')
  }
}

function* spanLines({ node, parent }: TreeStep, tree: TraceTree, namespace: string, width: number): Lines {
  const { span } = node
  const facts = factsOf(node, namespace)
  const name = segment(facts.isError ? 'error' : facts.kind, facts.name)
  const ending = facts.outcome === undefined ? facts.marks : [facts.outcome, ...facts.marks]
  const after = span.startAt > tree.startAt ? `, ${humanDuration(span.startAt - tree.startAt)} after the trace's` : ''
  yield clipSegments([segment('strong', '■ '), ...joinSegments([name, ...ending], '  ')], width)
  const pairs: readonly Pair[] = [
    ['span', span.spanId],
    ['parent', parentText(node, parent?.node)],
    ['kind', span.kind],
    ['status', span.statusMessage === undefined ? span.status : `${span.status}: ${span.statusMessage}`],
    ['start', instantText(span.startAt) + after],
    ['duration', `${humanDuration(span.endAt - span.startAt)}${span.running === true ? ' so far' : ''}`],
  ]
  yield* pairLines(pairs, INDENT, width)
  yield* attributeLines('attributes', span.attributes, width)
  for (const event of span.events) {
    const after = `${humanDuration(event.at - span.startAt)} after the span's start`
    yield* attributeLines(`event ${displayText(event.name)}, ${after}`, event.attributes, width)
  }
  for (const link of span.links) {
    const target = `link to span ${displayText(link.spanId)} of trace ${displayText(link.traceId)}`
    yield* attributeLines(target, link.attributes, width)
  }
}

function parentText({ span: { parentSpanId }, elsewhere, awaiting }: TraceNode, parent: TraceNode | undefined): string {
  if (parentSpanId === undefined) return 'none'
  if (parent !== undefined) return `${parentSpanId}, ${parent.span.name}`
  if (elsewhere) return `${parentSpanId} (stored elsewhere)`
  return `${parentSpanId} (${awaiting ? 'running' : 'missing'})`
}

/** With milliseconds, because spans of one trace are compared. */
function instantText(at: number): string {
  const text = humanInstant(at)
  return text === '' ? '?' : `${text.slice(0, -' UTC'.length)}${new Date(at).toISOString().slice(19, 23)} UTC`
}

function* resourceLines({ resource, scope }: StoredSpan, width: number): Lines {
  const version = scope.version === undefined ? '' : ` ${scope.version}`
  const by = scope.name === '' ? '' : `, written by ${displayText(`${scope.name}${version}`)}`
  yield* attributeLines(`resource${by}`, resource, width)
}

function* attributeLines(title: string, attributes: Attributes, width: number): Lines {
  const names = Object.keys(attributes).sort()
  for (const line of wrapToWidth(title, Math.max(1, width - INDENT))) {
    yield [segment('plain', ' '.repeat(INDENT)), segment('dim', line)]
  }
  const pairs = names.map((name): Pair => [name, attributes[name] ?? null])
  yield* pairLines(pairs, INDENT * 2, width)
}

type Pair = readonly [string, AttributeValue]

function* pairLines(pairs: readonly Pair[], indent: number, width: number): Lines {
  const named = pairs.map(([name, value]) => ({ name: displayText(name) || '(no name)', value }))
  const most = Math.max(8, Math.floor((width - indent) / 2))
  const widest = named.reduce((cells, { name }) => {
    const own = displayWidth(name)
    return own > most ? cells : Math.max(cells, own)
  }, 0)
  const column = width - indent - widest - 2 < MIN_VALUE ? 0 : widest
  const left = segment('plain', ' '.repeat(indent))
  const blank = segment('plain', ' '.repeat(column + 2))
  for (const { name, value } of named) {
    const lines = [...valueLines(value, width - indent - column - 2)]
    const isLong = displayWidth(name) > column
    if (isLong) for (const part of wrapToWidth(name, width - indent)) yield [left, segment('dim', part)]
    for (const [index, line] of lines.entries()) {
      const first = index === 0 && !isLong ? segment('dim', `${padEndToWidth(name, column)}  `) : blank
      yield [left, first, line]
    }
  }
}

function* valueLines(value: AttributeValue, width: number): Generator<TextSegment, void> {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  let left = MAX_LINES
  for (const line of displayLines(text.slice(0, MAX_CHARS))) {
    for (const piece of wrapToWidth(line, width)) {
      if (left === 0) return yield rest(text)
      left -= 1
      yield segment('plain', piece)
    }
  }
  if (text.length > MAX_CHARS) yield rest(text)
}

function rest(text: string): TextSegment {
  return segment('warn', `… truncated: ${humanCount(text.length)} characters in total`)
}
