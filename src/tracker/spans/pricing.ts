/** Tokens of one model request. Cache and reasoning are subsets and are never added to a total. */
export interface TokenUsage {
  /** All input, cached included. */
  readonly promptTokens: number
  /** All output, reasoning included. */
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  /** The part of the cache writes that is kept for an hour. */
  readonly cacheWriteLongTokens: number
  readonly reasoningTokens: number
  /** Prompt + output. */
  readonly totalTokens: number
}

/** Source of a cost: the model provider's answer, the agent, the user's configured price, or the price list. */
export type CostSource = 'provider' | 'agent' | 'configured' | 'list'

export interface Cost {
  readonly dollars: number
  readonly source: CostSource
  /** `list` only: the model whose prices were used, if the request names it differently. */
  readonly pricedAs?: string | undefined
  /** `list` only: the version of the price list. */
  readonly prices?: string | undefined
}

export interface PricedRequest {
  /** The well-known name, if there is one. */
  readonly provider: string | undefined
  readonly model: string
  readonly baseUrl: string | undefined
  /** The provider's own spelling. */
  readonly serviceTier: string | undefined
  /** Start time in epoch milliseconds. */
  readonly at: number
  readonly usage: TokenUsage
}

/** Computes the cost of a request. Undefined if its price is not known. */
export type Pricing = (request: PricedRequest) => Cost | undefined
