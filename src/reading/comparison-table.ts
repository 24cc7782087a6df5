import type { ComparedSide, Comparison } from './compare-traces.ts'
import { displayWidth, padEndToWidth, padStartToWidth } from './display-width.ts'
import { humanCost, humanCount, humanDuration } from './human-figures.ts'
import { segment, type TextSegment } from './segments.ts'
import { GAP } from './tree-columns.ts'

interface Figure {
  readonly label: string
  readonly of: (side: ComparedSide) => number | undefined
  readonly text: (figure: number) => string
  /** The row is shown if a side has at least this many. Default 1. */
  readonly from?: number
  /** True if a part of the figure is unknown, so that it is a lower bound. */
  readonly isPartial?: (side: ComparedSide) => boolean
}

const FIGURES: readonly Figure[] = [
  { label: 'turns', of: side => side.turns, text: humanCount, from: 2 },
  { label: 'time at work', of: side => side.millis, text: humanDuration, from: 0 },
  { label: 'waiting for a person', of: side => side.personMillis, text: humanDuration },
  { label: 'tokens in', of: side => side.inputTokens, text: humanCount },
  { label: 'tokens out', of: side => side.outputTokens, text: humanCount },
  {
    label: 'cost',
    of: side => side.cost,
    text: humanCost,
    from: Number.MIN_VALUE,
    isPartial: side => side.requestsOfUnknownCost > 0,
  },
  { label: 'requests', of: side => side.requests, text: humanCount, from: 0 },
  { label: 'retries', of: side => side.retries, text: humanCount },
  { label: 'tools', of: side => side.tools, text: humanCount, from: 0 },
  { label: 'sub-agents', of: side => side.subagents, text: humanCount },
  { label: 'errors', of: side => side.errors, text: humanCount },
]

/** The totals of both sides, one figure a line, with the change from A to B. Time excludes waiting for the user. */
export function figureLines({ a, b }: Comparison): (readonly TextSegment[])[] {
  const rows = FIGURES.map(figure => ({ figure, inA: figure.of(a), inB: figure.of(b) })).filter(
    ({ figure: { from = 1 }, inA = 0, inB = 0 }) => Math.max(inA, inB) >= from,
  )
  const cells = rows.map(({ figure, inA, inB }) => {
    const [isPartialA, isPartialB] = [figure.isPartial?.(a) ?? false, figure.isPartial?.(b) ?? false]
    const change = isPartialA || isPartialB ? '' : changeText(inA, inB, figure)
    return [figure.label, textOf(inA, figure, isPartialA), textOf(inB, figure, isPartialB), change]
  })
  const head = ['', 'A', 'B', 'change']
  const widths = head.map((title, column) =>
    Math.max(displayWidth(title), ...cells.map(row => displayWidth(row[column] ?? ''))),
  )
  return [head, ...cells].map((row, index) => {
    const [label = '', inA = '', inB = '', change = ''] = row
    const [labels = 0, left = 0, right = 0] = widths
    const tone = index === 0 ? 'dim' : 'plain'
    return [
      segment('dim', GAP + padEndToWidth(label, labels)),
      segment(tone, GAP + padStartToWidth(inA, left) + GAP + padStartToWidth(inB, right)),
      segment('dim', GAP + change),
    ]
  })
}

function textOf(figure: number | undefined, { text }: Figure, isPartial: boolean): string {
  if (figure === undefined) return '–'
  return isPartial ? `at least ${text(figure)}` : text(figure)
}

/** `+310 (+7 %)`. If A is 0, the percentage is left out. */
function changeText(inA: number | undefined, inB: number | undefined, { text }: Figure): string {
  if (inA === undefined || inB === undefined) return ''
  const change = inB - inA
  if (text(Math.abs(change)) === text(0)) return '='
  const sign = change > 0 ? '+' : '-'
  const percent = (Math.abs(change) / inA) * 100
  // A change of more than tenfold is plain without a percentage.
  const share = percent >= 1_000 ? '' : ` (${sign}${humanCount(percent)} %)`
  return `${sign}${text(Math.abs(change))}${share}`
}
