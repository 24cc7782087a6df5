import { humanCost, humanCount } from './human-figures.ts'

export interface UsageSums {
  readonly dollars: number
  readonly input: number
  readonly output: number
  readonly cachedTokens: number
  readonly requestCount: number
  readonly errorCount: number
  readonly turnCount: number
}

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
