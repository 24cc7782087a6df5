import { peek } from '../../contract/foreign.ts'
import { combined, NO_USAGE, plus, type Usage, usageOf } from '../base/usage.ts'

/** Tokens that the SDK counted for all models since the last result, including children and auxiliary calls. */
export function tokensOfModels(byModel: unknown): Usage | undefined {
  if (typeof byModel !== 'object' || byModel === null) return undefined
  return Object.values(byModel).reduce<Usage>((all, usage) => combined(all, tokensOfModel(usage), plus), NO_USAGE)
}

function tokensOfModel(usage: unknown): Usage {
  const counts = {
    input: peek(usage, 'inputTokens'),
    output: peek(usage, 'outputTokens'),
    cacheRead: peek(usage, 'cacheReadInputTokens'),
    cacheWrite: peek(usage, 'cacheCreationInputTokens'),
    reasoning: peek(usage, 'thinkingTokens'),
  }
  return usageOf(counts, { cacheIsOutside: true }) ?? NO_USAGE
}

export function larger(one: Usage, other: Usage | undefined): Usage {
  return combined(one, other ?? NO_USAGE, Math.max)
}
