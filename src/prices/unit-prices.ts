import type { Usage } from '../spans/pricing.ts'

/** US dollars for a million tokens. With steps: the last whose `above` the input of the request exceeds holds for all of it. */
export type Rate = number | { readonly base: number; readonly steps: readonly RateStep[] }

export interface RateStep {
  /** Tokens of input, cached included. */
  readonly above: number
  readonly rate: number
}

/** What a model's tokens cost. Where there is no rate for a kind, the wider one holds: input, or output. */
export interface UnitPrices {
  readonly input: Rate
  readonly output: Rate
  readonly cacheRead?: Rate | undefined
  readonly cacheWrite?: Rate | undefined
  /** Written to be kept for an hour. */
  readonly cacheWriteLong?: Rate | undefined
  readonly reasoning?: Rate | undefined
  /** US dollars for each request, whatever its tokens. */
  readonly request?: number | undefined
}

const MILLION = 1e6

function rateAt(rate: Rate, input: number): number {
  if (typeof rate === 'number') return rate
  let found = rate.base
  for (const step of rate.steps) if (input > step.above) found = step.rate
  return found
}

/**
 * US dollars. Undefined where the counts cannot be: more from the cache than was put in. A step of a rate counts for the whole
 * request, which is how all providers with steps bill.
 */
export function dollarsFor(usage: Usage, prices: UnitPrices): number | undefined {
  const { promptTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens, reasoningTokens } = usage
  const fresh = promptTokens - cacheReadTokens - cacheWriteTokens
  const shortWrites = cacheWriteTokens - cacheWriteLongTokens
  const said = outputTokens - reasoningTokens
  if (fresh < 0 || shortWrites < 0 || said < 0) return undefined
  const at = (tokens: number, rate: Rate): number => (tokens === 0 ? 0 : tokens * rateAt(rate, promptTokens))
  const { input, output, cacheWrite = input } = prices
  const sum =
    at(fresh, input) +
    at(cacheReadTokens, prices.cacheRead ?? input) +
    at(shortWrites, cacheWrite) +
    at(cacheWriteLongTokens, prices.cacheWriteLong ?? cacheWrite) +
    at(said, output) +
    at(reasoningTokens, prices.reasoning ?? output)
  return sum / MILLION + (prices.request ?? 0)
}
