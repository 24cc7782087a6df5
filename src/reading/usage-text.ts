import { displayText } from './display-text.ts'
import { displayWidth, padEndToWidth, padStartToWidth } from './display-width.ts'
import { humanCost, humanCount } from './human-figures.ts'
import { clipSegments, paintLine, segment, type TextSegment } from './segments.ts'

type Amount = 'dollars' | 'input' | 'output' | 'cachedTokens' | 'requestCount' | 'errorCount' | 'turnCount'
export type UsageSums = Readonly<Record<Amount, number>>

/** The measure of ranks, bars and comparisons: cost, or tokens if no cost is known. */
export interface UsageMeasure {
  readonly name: string
  readonly amountOf: (sums: UsageSums) => number
  readonly text: (amount: number) => string
}

const COST: UsageMeasure = { name: 'Cost', amountOf: ({ dollars }) => dollars, text: humanCost }
const TOKENS: UsageMeasure = { name: 'Tokens', amountOf: ({ input, output }) => input + output, text: humanCount }

export function usageMeasure(total: UsageSums): UsageMeasure {
  return total.dollars > 0 ? COST : TOKENS
}

/** `$97.35 this week, up 18 %, 71 % of input from cache`. */
export function usageSentence(total: UsageSums, before: UsageSums | undefined, period: string): string {
  const { amountOf, text } = usageMeasure(total)
  const amount = amountOf(total)
  const cached = cachedShare(total)
  return [
    `${text(amount)}${total.dollars > 0 ? '' : ' tokens'} ${period}`,
    changeText(amount, before === undefined ? 0 : amountOf(before)),
    cached > 0 ? `${Math.round(cached * 100)} % of input from cache` : '',
  ]
    .filter(part => part !== '')
    .join(', ')
}

function changeText(amount: number, before: number): string {
  if (before === 0) return ''
  const change = Math.round((amount / before - 1) * 100)
  return change === 0 ? 'unchanged' : `${change > 0 ? 'up' : 'down'} ${humanCount(Math.abs(change))} %`
}

/** 0 to 1. Some agents count cached tokens twice. */
export function cachedShare({ input, cachedTokens }: UsageSums): number {
  return input === 0 ? 0 : Math.min(1, Math.max(0, cachedTokens / input))
}

type UsageTextRow = UsageSums & Readonly<{ name: string; title: string }>

type Column = Readonly<{ head: string; text: (row: UsageSums) => string; fromWidth?: number }>

const COLUMNS: readonly Column[] = [
  { head: 'turns', text: ({ turnCount }) => zeroless(humanCount(turnCount)), fromWidth: 70 },
  { head: 'requests', text: ({ requestCount }) => humanCount(requestCount), fromWidth: 80 },
  { head: 'failed', text: ({ errorCount }) => zeroless(humanCount(errorCount)), fromWidth: 70 },
  { head: 'tokens in', text: ({ input }) => humanCount(input) },
  { head: 'cached', text: row => zeroless(`${Math.round(cachedShare(row) * 100)} %`), fromWidth: 60 },
  { head: 'out', text: ({ output }) => humanCount(output) },
  { head: 'cost', text: ({ dollars }) => (dollars === 0 ? '' : humanCost(dollars)) },
]

const GAP = '  '
const BAR_FROM_WIDTH = 90
const BAR_WIDTH = 16
const MIN_NAME_WIDTH = 12
const MAX_NAME_WIDTH = 48

export function renderUsage(
  rows: readonly UsageTextRow[],
  { amountOf }: UsageMeasure,
  { width, color }: { readonly width: number; readonly color: boolean },
): string[] {
  const isShown = ({ fromWidth = 0, text }: Column): boolean => width >= fromWidth && rows.some(row => text(row) !== '')
  const columns = COLUMNS.filter(isShown)
  const widths = columns.map(({ head, text }) => Math.max(head.length, ...rows.map(row => text(row).length)))
  const names = rows.map(({ name, title }) =>
    [displayText(name) || 'unknown', displayText(title)].filter(Boolean).join(' '),
  )
  const taken = widths.reduce((sum, each) => sum + each + GAP.length, width >= BAR_FROM_WIDTH ? BAR_WIDTH + 2 : 0)
  const longest = Math.max(...names.map(displayWidth), MIN_NAME_WIDTH)
  const nameWidth = Math.max(MIN_NAME_WIDTH, Math.min(longest, MAX_NAME_WIDTH, width - taken))
  const max = rows.reduce((most, row) => Math.max(most, amountOf(row)), 0)
  const heads = columns.map(({ head }, index) => GAP + padStartToWidth(head, widths[index] ?? 0))
  const lines: TextSegment[][] = [[segment('dim', padEndToWidth('', nameWidth) + heads.join(''))]]
  for (const [index, row] of rows.entries()) {
    const [name = segment('plain', '')] = clipSegments([segment('plain', names[index] ?? '')], nameWidth)
    const cells = columns.map(({ text }, at) => GAP + padStartToWidth(text(row), widths[at] ?? 0))
    const bar = width < BAR_FROM_WIDTH || max === 0 ? '' : GAP + barOf(amountOf(row) / max)
    lines.push([segment('plain', padEndToWidth(name.text, nameWidth) + cells.join('')), segment('api', bar)])
  }
  return lines.map(line => paintLine(line, color))
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const

function barOf(share: number): string {
  const eighths = Math.round(share * BAR_WIDTH * EIGHTHS.length)
  return '█'.repeat(Math.floor(eighths / EIGHTHS.length)) + EIGHTHS[eighths % EIGHTHS.length]
}

function zeroless(text: string): string {
  return /^0(?: %)?$/.test(text) ? '' : text
}
