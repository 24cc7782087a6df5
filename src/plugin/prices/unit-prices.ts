import type { TokenUsage } from '../../tracker/spans/span-definition.ts'

/** US dollars per million tokens. The last step with `above` below the request's input tokens applies to the whole request. */
export type TokenRate = number | { readonly base: number; readonly steps: readonly RateStep[] }

export interface RateStep {
  /** Input tokens, including cached ones. */
  readonly above: number
  readonly rate: number
}

/** The token prices of a model. Kinds without a rate use the rate of input or output. */
export interface UnitPrices {
  readonly input: TokenRate
  readonly output: TokenRate
  readonly cacheRead?: TokenRate | undefined
  readonly cacheWrite?: TokenRate | undefined
  readonly cacheWriteLong?: TokenRate | undefined
  readonly reasoning?: TokenRate | undefined
  /** US dollars per request, independent of its tokens. */
  readonly request?: number | undefined
}

const MILLION = 1e6

function rateAt(rate: TokenRate, input: number): number {
  if (typeof rate === 'number') return rate
  let found = rate.base
  for (const step of rate.steps) if (input > step.above) found = step.rate
  return found
}

/**
 * The cost in US dollars. Undefined if the counts are inconsistent, for example more cached than input tokens. A step applies
 * to the whole request, as with all providers that have steps.
 */
export function dollarsFor(usage: TokenUsage, prices: UnitPrices): number | undefined {
  const { promptTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens, reasoningTokens } = usage
  const fresh = promptTokens - cacheReadTokens - cacheWriteTokens
  const shortWrites = cacheWriteTokens - cacheWriteLongTokens
  const said = outputTokens - reasoningTokens
  if (fresh < 0 || shortWrites < 0 || said < 0) return undefined
  const at = (tokens: number, rate: TokenRate): number => (tokens === 0 ? 0 : tokens * rateAt(rate, promptTokens))
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
