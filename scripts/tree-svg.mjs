// The tree of one trace as a picture for the documentation, with the figures and words of the terminal's.
import { humanDuration, humanInstant } from '../build/reading/human-figures.js'
import { clipSegments, segment, segmentsWidth } from '../build/reading/segments.js'
import { summarize } from '../build/reading/trace-summary.js'
import { headerFigures, headerTitle } from '../build/reading/tree-header.js'
import { rowEnding, rowTitle, tokenText, treeRows } from '../build/reading/tree-rows.js'

const PAD = 28
const ROW = 24
const HEADER = 74
const INDENT = 20
const GAP = 22
/** Deeper levels are drawn at this indentation: the picture has one width. */
const MAX_LEVELS = 14
const FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"

/** Colours of the picture. The card is dark on every page, so it needs to know nothing of the page's theme. */
export const PALETTE = {
  card: '#12151d',
  edge: '#2b3140',
  line: '#3a4254',
  track: '#1a1f2a',
  session: '#f3f5fa',
  llm: '#7aa2f7',
  api: '#5ac8d8',
  tool: '#b794f4',
  subagent: '#f08bc3',
  approval: '#e8b65a',
  skill: '#8fd3ff',
  auxiliary: '#5fa8b5',
  other: '#c9cfdb',
  ok: '#7bd394',
  warn: '#e8b65a',
  error: '#f4717b',
  dim: '#7f899c',
  plain: '#c9cfdb',
  strong: '#f3f5fa',
}

const FONT_SIZE = 13
/** Advance of one cell: monospaced faces lie between 0.55 and 0.61 of the size. */
const CELL = FONT_SIZE * 0.602

const ENTITIES = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
])

/** For text that `displayText` has made printable: control characters are no XML, escaped or not. */
function escapeXml(text) {
  return text.replace(/[&<>"']/g, character => ENTITIES.get(character) ?? '')
}

/** Two decimals at most, so that the same trace always gives the same bytes. */
function coordinate(value) {
  return String(Math.round(value * 100) / 100)
}

export function textAt(x, y, segments, anchor = 'start') {
  if (segments.length === 0) return ''
  const end = anchor === 'end' ? ' text-anchor="end"' : ''
  const spans = segments.map(({ tone, text }) => {
    const weight = tone === 'strong' || tone === 'session' ? ' font-weight="600"' : ''
    return `<tspan fill="${PALETTE[tone]}"${weight}>${escapeXml(text)}</tspan>`
  })
  return `<text x="${coordinate(x)}" y="${coordinate(y)}"${end} xml:space="preserve">${spans.join('')}</text>`
}

export function rect(x, y, width, height, look) {
  return `<rect x="${coordinate(x)}" y="${coordinate(y)}" width="${coordinate(width)}" height="${coordinate(height)}" ${look}/>`
}

/**
 * The tree of one trace as an SVG picture: a dark card, readable on light and dark pages, without scripts or fonts
 * from elsewhere. The same tree always gives the same text.
 *
 * @param options `width` in pixels, at least 640; `maxRows`, the rest is counted in a last line
 */
export function renderTreeSvg(tree, options = {}) {
  const all = treeRows(tree)
  const rows = all.slice(0, options.maxRows ?? 200)
  const layout = planLayout(rows, Math.max(640, options.width ?? 1080))
  const hidden = all.length - rows.length
  const height = HEADER + PAD + (rows.length + (hidden > 0 ? 1 : 0)) * ROW
  const body = [
    ...header(tree, layout),
    ...branches(rows),
    ...rows.flatMap((row, index) => drawRow(row, rowY(index), tree, layout)),
    hidden > 0 ? textAt(PAD, rowY(rows.length) + 4, [segment('dim', `… and ${hidden} more`)]) : '',
  ]
  return frame(`Trace of ${tree.spanCount} spans`, layout.width, height, body)
}

export function frame(label, width, height, body) {
  const look = `rx="12" fill="${PALETTE.card}" stroke="${PALETTE.edge}"`
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="${FONTS}" font-size="${FONT_SIZE}">`,
    `<title>${escapeXml(label)}</title>`,
    rect(0.5, 0.5, width - 1, height - 1, look),
    ...body.filter(part => part !== ''),
    '</svg>',
  ].join('\n')}\n`
}

function planLayout(rows, width) {
  const most = measure => rows.reduce((max, row) => Math.max(max, measure(row)), 0)
  const cells = measure => most(measure) * CELL
  const ending =
    width -
    PAD -
    Math.min(
      260,
      cells(row => segmentsWidth(rowEnding(row))),
    )
  const output = ending - GAP - cells(row => tokenText(row.facts.tokens, 'output').length)
  const input = output - 3 * CELL
  const duration = input - cells(row => tokenText(row.facts.tokens, 'input').length) - GAP
  const barEnd = duration - cells(row => humanDuration(row.facts.durationMillis).length) - GAP
  const titles = most(row => indentOf(row.step) + 14 + segmentsWidth(rowTitle(row)) * CELL)
  const title = PAD + 10
  const titleWidth = Math.min(titles, (barEnd - title) * 0.64)
  const bar = title + titleWidth + GAP
  return { width, title, titleCells: titleWidth / CELL, bar, barWidth: barEnd - bar, duration, input, output, ending }
}

function header(tree, { width }) {
  const summary = summarize(tree)
  const cells = (width - 2 * PAD) / CELL
  const time = humanInstant(summary.startAt)
  const dot = `<circle cx="${PAD + 5}" cy="30" r="5" fill="${PALETTE[summary.outcome?.tone ?? 'dim']}"/>`
  return [
    dot,
    textAt(PAD + 22, 35, clipSegments(headerTitle(summary, tree.traceId), cells - time.length - 5)),
    textAt(width - PAD, 35, [segment('dim', time)], 'end'),
    textAt(PAD + 22, 57, clipSegments(headerFigures(summary), cells - 3)),
  ]
}

function rowY(index) {
  return HEADER + index * ROW + ROW / 2
}

function indentOf(step) {
  return Math.min(step.depth, MAX_LEVELS) * INDENT
}

/** One line a span, from its parent's dot down and over to its own. */
function branches(rows) {
  const indices = new Map(rows.map((row, index) => [row.step, index]))
  return rows.flatMap(({ step }, index) => {
    const parent = step.parent === undefined ? undefined : indices.get(step.parent)
    if (parent === undefined || step.parent === undefined || step.depth > MAX_LEVELS) return []
    const x = coordinate(PAD + 5 + indentOf(step.parent))
    const y = rowY(index)
    const bend = `V${coordinate(y - 6)}q0 6 6 6H${coordinate(PAD + 5 + indentOf(step) - 7)}`
    return [`<path d="M${x} ${coordinate(rowY(parent) + 7)}${bend}" fill="none" stroke="${PALETTE.line}"/>`]
  })
}

function drawRow(row, y, tree, layout) {
  const { facts, step } = row
  const indent = indentOf(step)
  const color = PALETTE[facts.isError ? 'error' : facts.kind]
  const base = y + 4.5
  return [
    `<circle cx="${PAD + 5 + indent}" cy="${coordinate(y)}" r="3.5" fill="${color}"/>`,
    textAt(layout.title + indent + 6, base, clipSegments(rowTitle(row), Math.floor(layout.titleCells - indent / CELL))),
    ...bar(row, y, tree, layout, color),
    textAt(layout.duration, base, [segment('plain', humanDuration(facts.durationMillis))], 'end'),
    ...tokens(row, base, layout),
    textAt(
      layout.ending,
      base,
      clipSegments(rowEnding(row), Math.floor((layout.width - PAD - layout.ending) / CELL + 0.5)),
    ),
  ]
}

/** Spans that only hold others are thin, waiting for somebody is pale. */
function bar({ facts, step }, y, tree, layout, color) {
  const from = fractionAt(step.node.span.startAt, tree)
  const to = Math.max(from, fractionAt(step.node.span.endAt, tree))
  const width = Math.max(3, (to - from) * layout.barWidth)
  const x = layout.bar + Math.min(from * layout.barWidth, layout.barWidth - width)
  const isFrame =
    facts.kind === 'session' || facts.kind === 'llm' || facts.kind === 'subagent' || facts.kind === 'skill'
  const height = isFrame ? 3 : 9
  const pale = facts.kind === 'approval' ? ' fill-opacity="0.55"' : ''
  return [
    rect(layout.bar, y - 5.5, layout.barWidth, 11, `rx="3" fill="${PALETTE.track}"`),
    rect(x, y - height / 2, width, height, `rx="${coordinate(Math.min(2.5, height / 2))}" fill="${color}"${pale}`),
  ]
}

/** How much of the turn was over by then, from 0 to 1. */
function fractionAt(at, { startAt, endAt }) {
  return Math.min(1, Math.max(0, (at - startAt) / Math.max(1, endAt - startAt)))
}

function tokens({ facts }, base, layout) {
  if (facts.tokens === undefined) return []
  const arrow = [segment('dim', ' → '), segment('plain', tokenText(facts.tokens, 'output'))]
  return [
    textAt(layout.input, base, [segment('plain', tokenText(facts.tokens, 'input'))], 'end'),
    textAt(layout.input, base, arrow),
  ]
}
