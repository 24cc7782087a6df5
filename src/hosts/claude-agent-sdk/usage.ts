import { peek } from '../../contract/foreign.ts'
import { combined, NO_USAGE, plus, type Usage, usageOf } from '../base/usage.ts'

/** `usage` of a message or a result: Anthropic's, whose input leaves the cache out. Undefined where nothing is said. */
export function tokensOf(usage: unknown): Usage | undefined {
  const counts = {
    input: peek(usage, 'input_tokens'),
    output: peek(usage, 'output_tokens'),
    cacheRead: peek(usage, 'cache_read_input_tokens'),
    cacheWrite: peek(usage, 'cache_creation_input_tokens'),
    reasoning: peek(peek(usage, 'output_tokens_details'), 'thinking_tokens'),
  }
  return usageOf(counts, { cacheIsOutside: true })
}

/** What the SDK counted for all models since the result before, children and side calls included. */
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
