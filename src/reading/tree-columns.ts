import { displayWidth } from './display-width.ts'
import { humanDuration } from './human-figures.ts'
import { segmentsWidth } from './segments.ts'
import { costText, inputText, outputText, rowEnding, rowTitle, type TreeRow } from './tree-rows.ts'

/** Cells of each column of the terminal's tree; 0 = the column is left out. */
export interface TreeColumns {
  readonly title: number
  readonly bar: number
  readonly duration: number
  readonly input: number
  readonly output: number
  readonly cost: number
  readonly ending: number
  readonly levels: number
}

export const GAP = '  '
export const ARROW = ' → '
const CELLS_PER_LEVEL = 3

/** Blank cells on the left, which only the header's dot uses. */
export const MARGIN = 2

const BAR_FROM_WIDTH = 100
const MIN_BAR = 16
const MAX_BAR = 40
const BAR_SHARE = 0.24
const MIN_TITLE = 26
const MAX_ENDING = 34
/** Marks are rare: on a narrow terminal, one line with several of them must not take the names' room on all lines. */
const TIGHT_ENDING = { share: 0.23, least: 18 } as const
/** A hint may use free room, but not push the figures far from the names. */
const MAX_TITLE = 72

/** Fits the columns into `width`. The least important columns are dropped first, so that the names stay readable. */
export function planColumns(rows: readonly TreeRow[], width: number): TreeColumns {
  const levels = Math.max(2, Math.floor(width / 8))
  const { names, titles, ...wanted } = widestCells(rows, levels)
  const room = (plan: OtherColumns): number => width - MARGIN - otherCells(plan)
  const ample = { ...wanted, bar: width >= BAR_FROM_WIDTH ? MIN_BAR : 0 }
  const tightEnding = Math.max(TIGHT_ENDING.least, Math.floor(width * TIGHT_ENDING.share))
  const full = room(ample) >= names ? ample : { ...ample, ending: Math.min(ample.ending, tightEnding) }
  const withoutTokens = { ...full, input: 0, output: 0 }
  const withoutFigures = { ...withoutTokens, cost: 0 }
  const plans = [
    full,
    withoutTokens,
    withoutFigures,
    { ...withoutFigures, ending: Math.min(full.ending, 14) },
    { ...withoutFigures, ending: 0 },
  ]
  const plan = plans.find(each => room(each) >= MIN_TITLE) ?? { ...withoutFigures, ending: 0, duration: 0 }
  const bar = barWidth(plan.bar, room(plan) + plan.bar, names, titles, width)
  return { ...plan, bar, levels, title: Math.min(Math.max(titles, MIN_TITLE), room(plan) + plan.bar - bar) }
}

/** Priority: names, then the minimum bar, then hints. Bars get the remaining room. */
function barWidth(least: number, room: number, names: number, titles: number, width: number): number {
  if (least === 0) return 0
  const fair = Math.min(Math.round(width * BAR_SHARE), room - names)
  return Math.min(MAX_BAR, Math.max(least, fair, room - Math.max(titles, MIN_TITLE)))
}

interface WidestCells extends Omit<TreeColumns, 'title' | 'bar' | 'levels'> {
  readonly names: number
  readonly titles: number
}

function widestCells(rows: readonly TreeRow[], levels: number): WidestCells {
  const widths = { names: 0, titles: 0, duration: 0, input: 0, output: 0, cost: 0, ending: 0 }
  for (const row of rows) {
    const branches = Math.min(row.step.depth, levels + 2) * CELLS_PER_LEVEL
    const title = rowTitle(row)
    const name = row.facts.hint === '' ? title : title.slice(0, -1)
    widths.names = Math.max(widths.names, Math.min(MAX_TITLE, branches + segmentsWidth(name)))
    widths.titles = Math.max(widths.titles, Math.min(MAX_TITLE, branches + segmentsWidth(title)))
    widths.duration = Math.max(widths.duration, displayWidth(humanDuration(row.facts.durationMillis)))
    widths.input = Math.max(widths.input, displayWidth(inputText(row.facts.tokens)))
    widths.output = Math.max(widths.output, displayWidth(outputText(row.facts.tokens)))
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
