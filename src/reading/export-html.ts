import { createHash } from 'node:crypto'
import type { Attributes, AttributeValue } from './attribute-value.ts'
import { criticalPath, type PathSection, pathText } from './critical-path.ts'
import { HIDDEN } from './display-text.ts'
import { type FoldedCalls, foldRepeats, isFolded, type SubtreeSum, subtreeSums } from './fold-repeats.ts'
import { groupBy } from './group-by.ts'
import { countOf, humanCost, humanCount, humanDuration, humanInstant } from './human-figures.ts'
import { segment, type TextSegment } from './segments.ts'
import { sharedContent, sharedContentLines } from './shared-content.ts'
import { namespaceOfTree } from './span-attributes.ts'
import type { StoredSpan } from './stored-span.ts'
import { positionIn, type TimeRange } from './time-ranges.ts'
import { asOf, type TraceNode, type TraceTree } from './trace-forest.ts'
import { summarize } from './trace-summary.ts'
import { headerFigures, headerTitle } from './tree-header.ts'
import { rowEnding, rowTitle, type TreeRow, tokensText, treeRows } from './tree-rows.ts'

/**
 * Turns as one self-contained page: no script, no other file, no request, and all content escaped as text. Yielded in pieces,
 * because a session may be large.
 * @param now epoch milliseconds: the end of running spans in the drawing
 */
export function* exportHtml(stored: readonly TraceTree[], now: number): Generator<string, void> {
  const trees = stored.map(tree => asOf(tree, now))
  const [first] = trees
  const title = first === undefined ? 'No traces' : titleText(first, trees.length)
  yield `${head(title)}<body>\n<h1>${escapeHtml(title)}</h1>\n`
  yield `<p class="dim">${countOf(trees.length, 'trace')}, exported by hookspan on ${escapeHtml(humanInstant(now))}</p>\n`
  yield '<details class="note"><summary>Contents of this page, and what was masked or truncated</summary>\n<ul>\n'
  for (const line of sharedContentLines(sharedContent(trees))) yield `<li>${escapeHtml(line.trim())}</li>\n`
  yield '</ul>\n</details>\n'
  for (const tree of trees) yield* turn(tree)
  yield '</body>\n</html>\n'
}

function titleText(tree: TraceTree, count: number): string {
  const summary = summarize(tree)
  const segments = headerTitle(count > 1 ? { ...summary, turnNumber: undefined } : summary, tree.traceId)
  return segments.map(({ text }) => text).join('')
}

/** The policy is the first element because it applies only to what follows it. */
function head(title: string): string {
  const hash = createHash('sha256').update(EXPORT_STYLE).digest('base64')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${EXPORT_STYLE}</style>
</head>
`
}

function* turn(tree: TraceTree): Generator<string, void> {
  const summary = summarize(tree)
  const path = criticalPath(tree)
  const parts = pathText(path) || 'empty'
  yield `<section>\n<h2>${segmentsHtml(headerTitle(summary, tree.traceId))}</h2>\n`
  yield `<p>${segmentsHtml(headerFigures(summary))}</p>\n<p>Critical path${tree.isRunning ? ' so far' : ''}: ${parts}</p>\n`
  yield `<p class="dim">${escapeHtml(humanInstant(summary.startAt))} · trace ${escapeHtml(tree.traceId)}</p>\n`
  yield* spanRows(tree, path)
  yield '</section>\n'
}

const MAX_CHARS = 100_000
const BAR_UNITS = 1_000
const MIN_UNITS = 2

function* spanRows(tree: TraceTree, path: ReturnType<typeof criticalPath>): Generator<string, void> {
  const sums = subtreeSums(tree)
  const folds = foldsOf(tree, sums)
  const sections = groupBy(path, ({ span }) => span)
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

function foldHead(fold: FoldedCalls, depth: number, tree: TraceTree): string {
  const { calls, name, outcome, sum, totalMillis, longestMillis } = fold
  const title = [segment('tool', name), segment('warn', ` ×${humanCount(calls.length)}`)]
  const figures = `${humanDuration(totalMillis)}, longest ${humanDuration(longestMillis)}`
  return `<details class="span fold"><summary>
<span class="title${indent(depth)}">${segmentsHtml([...title, segment('dim', `  ${figures}`)])}</span>${svg(rect('tool', sum, tree, [1, 8]))}
<span class="figure">${escapeHtml(humanDuration(sum.endAt - sum.startAt))}</span>
<span class="figure tokens">${escapeHtml(usageText(undefined, sum))}</span>
<span class="ending">${segmentsHtml([segment('ok', outcome)])}</span></summary>
`
}

function spanRow(row: TreeRow, tree: TraceTree, sum: SubtreeSum | undefined, sections: readonly PathSection[]): string {
  const { step, facts } = row
  const { span } = step.node
  const own = rect(facts.isError ? 'error' : facts.kind, span, tree, [1, 5])
  const path = sections.map(section => rect(`path ${section.part}`, section, tree, [7, 3]))
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

function rect(tone: string, span: TimeRange, tree: TraceTree, [y, height]: readonly [number, number]): string {
  const from = Math.min(positionIn(tree, span.startAt) * BAR_UNITS, BAR_UNITS - MIN_UNITS)
  const width = Math.max(MIN_UNITS, positionIn(tree, span.endAt) * BAR_UNITS - from)
  return `<rect class="${tone}" x="${from.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${height}"/>`
}

function body(span: StoredSpan): string {
  const status = span.statusMessage === undefined ? span.status : `${span.status}: ${span.statusMessage}`
  const titled = (title: string, attributes: Attributes): string =>
    `<p class="dim">${escapeHtml(title)}</p>${list(attributes)}`
  const events = span.events.map(({ name, at, attributes }) =>
    titled(`${name}, ${humanDuration(at - span.startAt)} after the start`, attributes),
  )
  const links = span.links.map(({ spanId, traceId, attributes }) =>
    titled(`link to span ${spanId} of trace ${traceId}`, attributes),
  )
  const own = { span: span.spanId, ...(span.parentSpanId && { parent: span.parentSpanId }), status }
  return [list(own), list(span.attributes), ...events, ...links].join('')
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
  return `${escapeHtml(text.slice(0, MAX_CHARS))}\n… truncated: ${humanCount(text.length)} characters in total`
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Escapes text for an element or a quoted attribute. Invisible characters become `\u{202e}`. */
export function escapeHtml(text: string): string {
  return text.replace(HIDDEN, codePoint).replace(/[&<>"']/g, character => ENTITIES[character] ?? '')
}

function codePoint(character: string): string {
  if (character === '\n' || character === '\t') return character
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}

function segmentsHtml(segments: readonly TextSegment[]): string {
  return segments.map(({ tone, text }) => `<span class="${tone}">${escapeHtml(text)}</span>`).join('')
}

const MAX_INDENT = 12

/** Name → colour on light and on dark ground. Those of the kinds are the colours of the page. */
const COLORS: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  ground: ['#ffffff', '#161616'],
  text: ['#161616', '#f0f0f0'],
  line: ['#d8d8d8', '#3a3a3a'],
  panel: ['#f5f5f5', '#222222'],
  dim: ['#5c5c5c', '#b0b0b0'],
  error: ['#b3261e', '#ff7b72'],
  ok: ['#19774a', '#4cc38a'],
  warn: ['#855600', '#e0a94a'],
  session: ['#66727f', '#8c98a5'],
  llm: ['#7d8894', '#76828e'],
  api: ['#0072b2', '#4aa5e3'],
  tool: ['#00845f', '#2cb68b'],
  subagent: ['#a8528a', '#d98abd'],
  approval: ['#b86a00', '#e59a2f'],
  hook: ['#9a5b3c', '#d99a78'],
  skill: ['#7b6832', '#bca55f'],
  auxiliary: ['#4f87a6', '#83b6d1'],
  other: ['#7b858f', '#8d97a1'],
}

const properties = (scheme: 0 | 1): string =>
  Object.entries(COLORS)
    .map(([name, colors]) => `--${name}:${colors[scheme]}`)
    .join(';')

const indents = Array.from({ length: MAX_INDENT }, (_, depth) => `.d${depth + 1}{padding-left:${(depth + 1) * 1.1}rem}`)

/** The colours of texts and bars. The others are of the ground. */
const TONES = Object.keys(COLORS).slice(4)

/** The whole style of an exported page. No element has a style attribute: the policy allows only this text, by its hash. */
const EXPORT_STYLE: string = `:root{color-scheme:light dark;${properties(0)}}
@media (prefers-color-scheme:dark){:root{${properties(1)}}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:80rem;padding:1rem;background:var(--ground);color:var(--text);
font:15px/1.45 system-ui,sans-serif}
h1{font-size:1.3rem;margin:.2rem 0}h2{font-size:1.05rem;margin:2rem 0 .2rem}
p{margin:.2rem 0}
ul{margin:.3rem 0}
.note{border:1px solid var(--line);padding:.5rem .8rem;margin:1rem 0}
.span{border-top:1px solid var(--line)}
.span>summary{display:grid;grid-template-columns:minmax(10rem,1fr) 12rem 5.5rem 9rem 10rem;gap:.8rem;padding:.25rem 0;
cursor:pointer;list-style:none}
.span>summary::-webkit-details-marker{display:none}
.span>summary:focus-visible{outline:2px solid var(--api)}
.span[open]>summary{background:var(--panel)}
.title{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.title::before{content:'▸ ';color:var(--dim)}
.span[open] .title::before{content:'▾ '}
.figure{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.ending{overflow-wrap:anywhere}
.path{fill:var(--text)}.path.you{fill:var(--approval)}.path.untraced{fill:var(--line)}
.fold>.span{margin-left:1rem}
svg{width:100%;height:.7rem;align-self:center;background:var(--panel)}
.body{background:var(--panel);padding:.3rem 1rem 1rem}
dl{display:grid;grid-template-columns:minmax(8rem,16rem) 1fr;gap:.15rem 1rem;margin:.4rem 0}
dt{color:var(--dim);overflow-wrap:anywhere}dd{margin:0;min-width:0}
pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.4 ui-monospace,monospace}
${TONES.map(tone => `.${tone}{color:var(--${tone})}rect.${tone}{fill:var(--${tone})}`).join('')}
.strong{font-weight:600}
${indents.join('')}
@media (max-width:700px){.span>summary{grid-template-columns:1fr auto}.span>summary svg,.tokens,.ending{display:none}
dl{grid-template-columns:1fr}}`
