import type { Attributes, AttributeValue } from './attribute-value.ts'
import type { CriticalPath, CriticalPathSection } from './critical-path.ts'
import { MAX_INDENT } from './export-style.ts'
import { type FoldedCalls, foldRepeats, isFolded } from './fold-repeats.ts'
import { escapeHtml, segmentsHtml } from './html-text.ts'
import { humanCost, humanCount, humanDuration } from './human-figures.ts'
import { segment } from './segments.ts'
import { namespaceOfTree } from './span-attributes.ts'
import type { StoredSpan } from './stored-span.ts'
import { type SubtreeSum, subtreeSums } from './subtree-sums.ts'
import type { TraceNode, TraceTree } from './trace-forest.ts'
import { rowEnding, rowTitle, type TreeRow, tokensText, treeRows } from './tree-rows.ts'
import type { Extent } from './waterfall.ts'

/** Limit per value. The OTLP export has the whole value. */
const MAX_CHARS = 100_000
const BAR_UNITS = 1_000
const MIN_UNITS = 2

/** The rows of a page: one folded row per span with all its data, and repeated calls of one tool as one row to unfold. */
export function* spanRows(tree: TraceTree, path: CriticalPath): Generator<string, void> {
  const sums = subtreeSums(tree)
  const folds = foldsOf(tree, sums)
  const sections = sectionsBySpan(path)
  let left = 0
  for (const row of treeRows(tree)) {
    const { node, depth } = row.step
    const fold = folds.get(node)
    if (fold !== undefined) {
      left = fold.sum.spanCount
      yield foldHead(fold, depth, tree)
    }
    yield spanRow(row, tree, sums.get(node), sections.get(node.span) ?? [])
    if (left === 1) yield '</details>\n'
    left -= 1
  }
}

/** Folds by their first call. A fold never contains another one: nested folds are slower to read. */
function foldsOf(tree: TraceTree, sums: ReadonlyMap<TraceNode, SubtreeSum>): ReadonlyMap<TraceNode, FoldedCalls> {
  const namespace = namespaceOfTree(tree)
  const folds = new Map<TraceNode, FoldedCalls>()
  const open = [tree.roots]
  for (let siblings = open.pop(); siblings !== undefined; siblings = open.pop()) {
    for (const row of foldRepeats(siblings, { namespace, sums })) {
      if (!isFolded(row)) open.push(row.children)
      else if (row.calls[0] !== undefined) folds.set(row.calls[0], row)
    }
  }
  return folds
}

function sectionsBySpan({ sections }: CriticalPath): ReadonlyMap<StoredSpan, CriticalPathSection[]> {
  const bySpan = new Map<StoredSpan, CriticalPathSection[]>()
  for (const section of sections) {
    const own = bySpan.get(section.span)
    if (own === undefined) bySpan.set(section.span, [section])
    else own.push(section)
  }
  return bySpan
}

function foldHead(
  { calls, name, outcome, sum, totalMillis, longestMillis }: FoldedCalls,
  depth: number,
  tree: TraceTree,
) {
  const title = [segment('tool', name), segment('warn', ` ×${humanCount(calls.length)}`)]
  const figures = `${humanDuration(totalMillis)}, the longest ${humanDuration(longestMillis)}`
  return `<details class="span fold"><summary>
<span class="title${indent(depth)}">${segmentsHtml([...title, segment('dim', `  ${figures}`)])}</span>${svg(rect('tool', sum, tree, [1, 8]))}
<span class="figure">${escapeHtml(humanDuration(sum.endAt - sum.startAt))}</span>
<span class="figure tokens">${escapeHtml(usageText(undefined, sum))}</span>
<span class="ending">${segmentsHtml([segment('ok', outcome)])}</span></summary>
`
}

function spanRow(
  row: TreeRow,
  tree: TraceTree,
  sum: SubtreeSum | undefined,
  sections: readonly CriticalPathSection[],
): string {
  const { step, facts } = row
  const { span } = step.node
  const own = rect(facts.isError ? 'error' : facts.kind, span, tree, [1, 5])
  const path = sections.map(({ fromAt, toAt, part }) =>
    rect(`path ${part}`, { startAt: fromAt, endAt: toAt }, tree, [7, 3]),
  )
  return `<details class="span" id="${escapeHtml(`${tree.traceId}-${span.spanId}`)}"><summary>
<span class="title${indent(step.depth)}">${segmentsHtml(rowTitle(row))}</span>${svg([own, ...path].join(''))}
<span class="figure">${escapeHtml(humanDuration(facts.durationMillis))}</span>
<span class="figure tokens">${escapeHtml(usageText(row, sum))}</span>
<span class="ending">${segmentsHtml(rowEnding(row))}</span></summary>
<div class="body">${body(span)}</div></details>
`
}

function indent(depth: number): string {
  return depth === 0 ? '' : ` d${Math.min(MAX_INDENT, depth)}`
}

function usageText(row: TreeRow | undefined, sum: SubtreeSum | undefined): string {
  const own = row?.facts.tokens
  const below = sum === undefined ? 0 : sum.inputTokens + sum.outputTokens
  const tokens = own ?? (sum && below > 0 ? { input: sum.inputTokens, output: sum.outputTokens } : undefined)
  const cost = sum === undefined || sum.cost === 0 ? '' : humanCost(sum.cost)
  return [tokens === undefined ? '' : tokensText(tokens), cost].filter(text => text !== '').join(' · ')
}

function svg(inner: string): string {
  return `<svg viewBox="0 0 ${BAR_UNITS} 10" preserveAspectRatio="none" aria-hidden="true">${inner}</svg>`
}

function rect(
  tone: string,
  span: Extent,
  { startAt, endAt }: TraceTree,
  [y, height]: readonly [number, number],
): string {
  const length = Math.max(1e-6, endAt - startAt)
  const place = (at: number): number => Math.min(BAR_UNITS, Math.max(0, ((at - startAt) / length) * BAR_UNITS))
  const from = Math.min(place(span.startAt), BAR_UNITS - MIN_UNITS)
  const width = Math.max(MIN_UNITS, place(span.endAt) - from)
  return `<rect class="${tone}" x="${from.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${height}"/>`
}

function body(span: StoredSpan): string {
  const status = span.statusMessage === undefined ? span.status : `${span.status}: ${span.statusMessage}`
  const events = span.events.map(event => ({
    title: `${event.name}, ${humanDuration(event.at - span.startAt)} after the start`,
    attributes: event.attributes,
  }))
  const links = span.links.map(link => ({
    title: `link to span ${link.spanId} of trace ${link.traceId}`,
    attributes: link.attributes,
  }))
  const more = [...events, ...links].map(
    ({ title, attributes }) => `<p class="dim">${escapeHtml(title)}</p>${list(attributes)}`,
  )
  const own = { span: span.spanId, ...(span.parentSpanId && { parent: span.parentSpanId }), status }
  return [list(own), list(span.attributes), ...more].join('')
}

function list(attributes: Attributes): string {
  const names = Object.keys(attributes).sort()
  if (names.length === 0) return ''
  const entries = names.map(
    name => `<dt>${escapeHtml(name)}</dt><dd><pre>${valueText(attributes[name] ?? null)}</pre></dd>`,
  )
  return `<dl>${entries.join('')}</dl>`
}

function valueText(value: AttributeValue): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 1)
  if (text.length <= MAX_CHARS) return escapeHtml(text)
  return `${escapeHtml(text.slice(0, MAX_CHARS))}\n… and so on: ${humanCount(text.length)} characters in all`
}
