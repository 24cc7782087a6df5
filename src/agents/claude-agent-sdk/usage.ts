import { peek } from '../../contract/foreign.ts'
import { combineUsage, NO_USAGE, plus, type TokenUsage, usageOf } from '../base/usage.ts'

/** Tokens that the SDK counted for all models since the last result, including children and auxiliary calls. */
export function tokensOfModels(byModel: unknown): TokenUsage | undefined {
  if (typeof byModel !== 'object' || byModel === null) return undefined
  return Object.values(byModel).reduce<TokenUsage>(
    (all, usage) => combineUsage(all, tokensOfModel(usage), plus),
    NO_USAGE,
  )
}

function tokensOfModel(usage: unknown): TokenUsage {
  const counts = {
    input: peek(usage, 'inputTokens'),
    output: peek(usage, 'outputTokens'),
    cacheRead: peek(usage, 'cacheReadInputTokens'),
    cacheWrite: peek(usage, 'cacheCreationInputTokens'),
    reasoning: peek(usage, 'thinkingTokens'),
  }
  return usageOf(counts, { cacheIsOutside: true }) ?? NO_USAGE
}

export function larger(one: TokenUsage, other: TokenUsage | undefined): TokenUsage {
  return combineUsage(one, other ?? NO_USAGE, Math.max)
}
