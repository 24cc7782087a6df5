import { displayWidth, padEndToWidth, padStartToWidth } from './display-width.ts'
import { humanDuration, humanInstant } from './human-figures.ts'
import type { DisplayKind, TextSegment } from './segments.ts'
import { blankSegment, clipSegments, paintLine, segment, segmentsWidth } from './segments.ts'
import { positionIn, type TimeRange } from './time-ranges.ts'
import { asOf, type TraceTree, type TreeStep } from './trace-forest.ts'
import { summarize, type TraceSummary } from './trace-summary.ts'
import { headerFigures, headerTitle, shortTraceId, totalFigures } from './tree-header.ts'
import { costText, hintText, rowEnding, rowTitle, type TreeRow, tokenText, treeRows } from './tree-rows.ts'

export interface TreeTextOptions {
  /** Cells of a line, at least 20. Default 100; from 60 on there is a column of waterfall bars. */
  readonly width?: number
  readonly color?: boolean
  /** Epoch milliseconds: running spans are drawn up to then. Default: the latest known time of the trace. */
  readonly now?: number
}

const DEFAULT_WIDTH = 100
const MIN_WIDTH = 20
const MIN_FIGURES = 40

/** The lines of `renderTree` before the first span. */
export const HEADER_LINES = 3

export function renderTree(stored: TraceTree, options: TreeTextOptions = {}): string {
  const tree = asOf(stored, options.now)
  const width = Math.max(MIN_WIDTH, Math.floor(options.width ?? DEFAULT_WIDTH))
  const rows = treeRows(tree)
  const columns = planColumns(rows, width)
  const lines = [...headerLines(tree, width), [], ...rows.map(row => rowLine(row, tree, columns))]
  return lines.map(line => paintLine(line, options.color ?? false)).join('\n')
}

/** One line for several traces: `3 traces · 42.1 s · 39 spans · 3 errors`. */
export function renderTotals(trees: readonly TraceTree[], options: TreeTextOptions = {}): string {
  const width = Math.max(MIN_WIDTH, Math.floor(options.width ?? DEFAULT_WIDTH))
  const summaries = trees.map(tree => summarize(asOf(tree, options.now)))
  const figures = fitFigures(isShort => totalFigures(summaries, isShort), width)
  return paintLine(figures, options.color ?? false)
}

function fitFigures(figures: (isShort: boolean) => TextSegment[], width: number): readonly TextSegment[] {
  const whole = [blankSegment(MARGIN), ...figures(false)]
  return segmentsWidth(whole) <= width ? whole : clipSegments([blankSegment(MARGIN), ...figures(true)], width)
}

function headerLines(tree: TraceTree, width: number): (readonly TextSegment[])[] {
  const summary = summarize(tree)
  const time = segment('dim', humanInstant(summary.startAt))
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
  const draw = (isShort: boolean): TextSegment[] => headerFigures(summary, isShort)
  if (id.text === '' || room < MIN_FIGURES) return fitFigures(draw, width)
  const figures = fitFigures(draw, room)
  return [...figures, blankSegment(width - segmentsWidth([...figures, id])), id]
}

function rowLine(row: TreeRow, tree: TraceTree, columns: TreeColumns): TextSegment[] {
  const { facts, step } = row
  const { tokens } = facts
  const title = clipSegments([segment('dim', branches(step, columns.levels)), ...rowTitle(row)], columns.title)
  const cell = (width: number, segments: readonly TextSegment[]): readonly TextSegment[] =>
    width === 0 ? [] : [segment('plain', GAP), ...segments]
  const bar = waterfallBar(facts.kind, step.node.span, tree, columns.bar)
  return [
    blankSegment(MARGIN),
    ...title,
    blankSegment(columns.title - segmentsWidth(title)),
    ...cell(columns.bar, [segment(facts.isError ? 'error' : facts.kind, bar)]),
    ...cell(columns.duration, [
      segment('plain', padStartToWidth(humanDuration(facts.durationMillis), columns.duration)),
    ]),
    ...cell(columns.input, [
      segment('plain', padStartToWidth(tokenText(tokens, 'input'), columns.input)),
      segment('dim', tokens === undefined ? ' '.repeat(ARROW.length) : ARROW),
      segment('plain', padEndToWidth(tokenText(tokens, 'output'), columns.output)),
    ]),
    ...cell(columns.cost, [segment('plain', padStartToWidth(costText(row), columns.cost))]),
    ...cell(columns.ending, clipSegments(rowEnding(row), columns.ending)),
  ]
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

type Figures = 'duration' | 'input' | 'output' | 'cost' | 'ending'
/** Cells of each column; `levels`: drawn levels of branches. */
export type TreeColumns = Readonly<Record<'title' | 'bar' | 'levels' | Figures, number>>

export const GAP = '  '
export const ARROW = ' → '
const CELLS_PER_LEVEL = 3

const MARGIN = 2

const BAR_FROM_WIDTH = 60
const WIDE_FROM_WIDTH = 100
const MIN_BAR = 8
const MIN_WIDE_BAR = 16
const MAX_BAR = 40
const BAR_SHARE = 0.24
const MIN_TITLE = 26
const MAX_NARROW_NAME = 40
const MAX_ENDING = 34
/** Marks are rare: on a narrow terminal, one line with several of them must not take the names' room on all lines. */
const TIGHT_ENDING = { share: 0.23, least: 18 } as const
/** A hint may use free room, but not push the figures far from the names. */
const MAX_TITLE = 72

/** Fits the columns into `width`. The least important columns are dropped first, so that the names stay readable. */
function planColumns(rows: readonly TreeRow[], width: number): TreeColumns {
  const levels = Math.max(2, Math.floor(width / 8))
  const { names, titles, ...wanted } = widestCells(rows, levels)
  const room = (plan: OtherColumns): number => width - MARGIN - otherCells(plan)
  const bar = width < BAR_FROM_WIDTH ? 0 : width < WIDE_FROM_WIDTH ? MIN_BAR : MIN_WIDE_BAR
  const ample = { ...wanted, bar }
  const tightEnding = Math.max(TIGHT_ENDING.least, Math.floor(width * TIGHT_ENDING.share))
  const full = room(ample) >= names ? ample : { ...ample, ending: Math.min(ample.ending, tightEnding) }
  const withoutTokens = { ...full, input: 0, output: 0 }
  const withoutFigures = { ...withoutTokens, cost: 0 }
  const narrow = [14, 10, 0].map(most => ({ ...withoutFigures, ending: Math.min(full.ending, most) }))
  const plans = [full, withoutTokens, withoutFigures, ...narrow]
  // On a narrow terminal, bars leave room for tokens only if the names fit.
  const least = width < WIDE_FROM_WIDTH ? Math.max(MIN_TITLE, Math.min(names, MAX_NARROW_NAME)) : MIN_TITLE
  const bare = { ...withoutFigures, ending: 0, duration: 0 }
  const plan = plans.find(each => room(each) >= (each === full ? least : MIN_TITLE)) ?? bare
  const fitted = barWidth(plan.bar, room(plan) + plan.bar, names, titles, width)
  const title = Math.min(Math.max(titles, MIN_TITLE), room(plan) + plan.bar - fitted)
  return { ...plan, bar: fitted, levels, title }
}

function barWidth(least: number, room: number, names: number, titles: number, width: number): number {
  if (least === 0) return 0
  const fair = Math.min(Math.round(width * BAR_SHARE), room - names)
  return Math.min(MAX_BAR, Math.max(least, fair, room - Math.max(titles, MIN_TITLE)))
}

function widestCells(rows: readonly TreeRow[], levels: number): Readonly<Record<'names' | 'titles' | Figures, number>> {
  const widths = { names: 0, titles: 0, duration: 0, input: 0, output: 0, cost: 0, ending: 0 }
  for (const row of rows) {
    const branches = Math.min(row.step.depth, levels + 2) * CELLS_PER_LEVEL
    const title = rowTitle(row)
    const name = hintText(row.facts) === '' ? title : title.slice(0, -1)
    widths.names = Math.max(widths.names, Math.min(MAX_TITLE, branches + segmentsWidth(name)))
    widths.titles = Math.max(widths.titles, Math.min(MAX_TITLE, branches + segmentsWidth(title)))
    widths.duration = Math.max(widths.duration, displayWidth(humanDuration(row.facts.durationMillis)))
    widths.input = Math.max(widths.input, displayWidth(tokenText(row.facts.tokens, 'input')))
    widths.output = Math.max(widths.output, displayWidth(tokenText(row.facts.tokens, 'output')))
    widths.cost = Math.max(widths.cost, displayWidth(costText(row)))
    widths.ending = Math.max(widths.ending, Math.min(MAX_ENDING, segmentsWidth(rowEnding(row))))
  }
  return widths
}

type OtherColumns = Omit<TreeColumns, 'title' | 'levels'>

function otherCells(columns: OtherColumns): number {
  const tokens = columns.input === 0 ? 0 : columns.input + ARROW.length + columns.output
  const used = [columns.bar, columns.duration, tokens, columns.cost, columns.ending].filter(cells => cells > 0)
  return used.reduce((sum, cells) => sum + cells + GAP.length, 0)
}

const STROKES = { work: '━╸╺', frame: '─╴╶', wait: '╍╸╺' } as const

function strokeOf(kind: DisplayKind): string {
  if (kind === 'approval') return STROKES.wait
  return kind === 'session' || kind === 'llm' || kind === 'subagent' || kind === 'skill' ? STROKES.frame : STROKES.work
}

function waterfallBar(kind: DisplayKind, span: TimeRange, whole: TimeRange, width: number): string {
  const halves = width * 2
  const first = Math.min(halves - 1, Math.floor(positionIn(whole, span.startAt) * halves))
  const end = whole.endAt > whole.startAt ? Math.ceil(positionIn(whole, span.endAt) * halves) : halves
  const [both = '', left = '', right = ''] = strokeOf(kind)
  const covers = (half: number): boolean => half >= first && half < Math.max(first + 1, end)
  return Array.from({ length: width }, (_, cell) => {
    if (covers(cell * 2)) return covers(cell * 2 + 1) ? both : left
    return covers(cell * 2 + 1) ? right : ' '
  }).join('')
}
