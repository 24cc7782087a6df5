/** Tokens of one model request. Cache and reasoning are subsets and are never added to a total. */
export interface Usage {
  /** All input, cached included. */
  readonly promptTokens: number
  /** All output, reasoning included. */
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  /** The part of them that is kept for an hour. */
  readonly cacheWriteLongTokens: number
  readonly reasoningTokens: number
  /** Prompt + output. */
  readonly totalTokens: number
}

/** Who says what a request cost: the model provider in its answer, the agent, a price of one's own, the list of prices. */
export type CostSource = 'provider' | 'agent' | 'configured' | 'list'

export interface Cost {
  readonly dollars: number
  readonly source: CostSource
  /** Of the list: the name of the model whose prices were taken, where the request names it otherwise. */
  readonly pricedAs?: string | undefined
  /** Of the list: which prices these are. */
  readonly prices?: string | undefined
}

/** What the price of a request depends on. */
export interface PricedRequest {
  /** The well-known value, where it is one. */
  readonly provider: string | undefined
  readonly model: string
  readonly baseUrl: string | undefined
  /** As the provider says it. */
  readonly serviceTier: string | undefined
  /** When it began, in epoch milliseconds. */
  readonly at: number
  readonly usage: Usage
}

/** Undefined: its price is not known. */
export type Pricing = (request: PricedRequest) => Cost | undefined
