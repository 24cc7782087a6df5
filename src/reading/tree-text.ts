import { padEndToWidth, padStartToWidth } from './display-width.ts'
import { humanDuration } from './human-figures.ts'
import { blankSegment, clipSegments, paintLine, segment, segmentsWidth, type TextSegment } from './segments.ts'
import { asOf, type TraceTree, type TreeStep } from './trace-forest.ts'
import { summarize, type TraceSummary } from './trace-summary.ts'
import { ARROW, GAP, MARGIN, planColumns, type TreeColumns } from './tree-columns.ts'
import { headerFigures, headerTime, headerTitle, shortTraceId, totalFigures } from './tree-header.ts'
import { costText, inputText, outputText, rowEnding, rowTitle, type TreeRow, treeRows } from './tree-rows.ts'
import { waterfallBar } from './waterfall.ts'

export interface TreeTextOptions {
  /** Cells of a line, at least 20. Default 100; from 100 on there is a column of waterfall bars. */
  readonly width?: number
  /** ANSI colours. Default false. */
  readonly color?: boolean
  /** Epoch milliseconds: running spans are drawn up to then. Default: the latest known time of the trace. */
  readonly now?: number
}

const DEFAULT_WIDTH = 100
const MIN_WIDTH = 20
/** On narrower lines, the figures need all the room. */
const MIN_FIGURES = 40

/** The tree of one trace for the terminal, lines joined by line ends. No line is wider than `width`. */
export function renderTree(stored: TraceTree, options: TreeTextOptions = {}): string {
  const tree = upTo(stored, options)
  const width = Math.max(MIN_WIDTH, Math.floor(options.width ?? DEFAULT_WIDTH))
  const rows = treeRows(tree)
  const columns = planColumns(rows, width)
  const lines = [...headerLines(tree, width), [], ...rows.map(row => rowLine(row, tree, columns))]
  return lines.map(line => paintLine(line, options.color ?? false)).join('\n')
}

function upTo(stored: TraceTree, { now }: TreeTextOptions): TraceTree {
  return now === undefined ? stored : asOf(stored, now)
}

/** One line for several traces: `3 traces · 42.1 s · 39 spans · 3 errors`. */
export function renderTotals(trees: readonly TraceTree[], options: TreeTextOptions = {}): string {
  const width = Math.max(MIN_WIDTH, Math.floor(options.width ?? DEFAULT_WIDTH))
  const totals = totalFigures(trees.map(tree => summarize(upTo(tree, options))))
  return paintLine(clipSegments([blankSegment(MARGIN), ...totals], width), options.color ?? false)
}

function headerLines(tree: TraceTree, width: number): (readonly TextSegment[])[] {
  const summary = summarize(tree)
  const time = segment('dim', headerTime(summary))
  const title = [segment(summary.outcome?.tone ?? 'dim', '● '), ...headerTitle(summary, tree.traceId)]
  const room = width - segmentsWidth([time]) - GAP.length
  const figures = figuresLine(summary, tree.traceId, width)
  if (room < segmentsWidth(title)) return [clipSegments(title, width), figures]
  return [[...title, blankSegment(width - segmentsWidth([...title, time])), time], figures]
}

/** Ends with the short trace id that `hookspan tree` accepts, unless the title already has it. */
function figuresLine(summary: TraceSummary, traceId: string, width: number): readonly TextSegment[] {
  const id = segment('dim', summary.sessionId === '' ? '' : shortTraceId(traceId))
  const room = width - segmentsWidth([id]) - GAP.length
  if (id.text === '' || room < MIN_FIGURES)
    return clipSegments([blankSegment(MARGIN), ...headerFigures(summary)], width)
  const figures = clipSegments([blankSegment(MARGIN), ...headerFigures(summary)], room)
  return [...figures, blankSegment(width - segmentsWidth([...figures, id])), id]
}

function rowLine(row: TreeRow, tree: TraceTree, columns: TreeColumns): TextSegment[] {
  const title = clipSegments([segment('dim', branches(row.step, columns.levels)), ...rowTitle(row)], columns.title)
  return [
    blankSegment(MARGIN),
    ...title,
    blankSegment(columns.title - segmentsWidth(title)),
    ...barCell(row, tree, columns.bar),
    ...durationCell(row, columns.duration),
    ...tokensCell(row, columns),
    ...costCell(row, columns.cost),
    ...endingCell(row, columns.ending),
  ]
}

function barCell({ facts, step }: TreeRow, tree: TraceTree, width: number): TextSegment[] {
  if (width === 0) return []
  const bar = waterfallBar(facts.kind, step.node.span, tree, width)
  return [segment('plain', GAP), segment(facts.isError ? 'error' : facts.kind, bar)]
}

function durationCell({ facts }: TreeRow, width: number): TextSegment[] {
  if (width === 0) return []
  return [segment('plain', GAP + padStartToWidth(humanDuration(facts.durationMillis), width))]
}

function tokensCell({ facts }: TreeRow, columns: TreeColumns): TextSegment[] {
  if (columns.input === 0) return []
  if (facts.tokens === undefined) return [blankSegment(GAP.length + columns.input + ARROW.length + columns.output)]
  return [
    segment('plain', GAP + padStartToWidth(inputText(facts.tokens), columns.input)),
    segment('dim', ARROW),
    segment('plain', padEndToWidth(outputText(facts.tokens), columns.output)),
  ]
}

function costCell(row: TreeRow, width: number): TextSegment[] {
  return width === 0 ? [] : [segment('plain', GAP + padStartToWidth(costText(row), width))]
}

function endingCell(row: TreeRow, width: number): TextSegment[] {
  return width === 0 ? [] : [segment('plain', GAP), ...clipSegments(rowEnding(row), width)]
}

/**
 * `│  └─ `. Ten thousand levels of it would exhaust the memory, so only the innermost levels are drawn and the outer ones are
 * counted.
 */
function branches(step: TreeStep, levels: number): string {
  if (step.depth === 0) return ''
  const drawn = [step.isLast ? '└─ ' : '├─ ']
  let outer = step.parent
  for (; outer !== undefined && outer.depth > 0 && drawn.length < levels; outer = outer.parent) {
    drawn.push(outer.isLast ? '   ' : '│  ')
  }
  const hidden = outer?.depth ?? 0
  if (hidden > 0) drawn.push(`⋯${hidden} `)
  return drawn.reverse().join('')
}
