import { elementsOf, numberOf, peek } from '../../contract/foreign.ts'
import { combineUsage, type TokenUsage, usageOf } from '../base/usage.ts'

function first(usage: unknown, ...names: readonly string[]): number | undefined {
  for (const name of names) {
    const tokens = numberOf(peek(usage, name))
    if (tokens !== undefined && tokens >= 0) return tokens
  }
  return undefined
}

/** The SDK's usage has a list of details, one for each request; the API's has an object. */
function details(usage: unknown, ...names: readonly string[]): unknown {
  for (const name of names) {
    const said = peek(usage, name)
    if (said !== undefined && said !== null) return elementsOf(said, 1)[0] ?? said
  }
  return undefined
}

export function tokensOf(usage: unknown): TokenUsage | undefined {
  const input = details(usage, 'input_tokens_details', 'prompt_tokens_details', 'inputTokensDetails')
  const made = details(usage, 'output_tokens_details', 'completion_tokens_details', 'outputTokensDetails')
  return usageOf({
    input: first(usage, 'input_tokens', 'prompt_tokens', 'inputTokens', 'promptTokens'),
    output: first(usage, 'output_tokens', 'completion_tokens', 'outputTokens', 'completionTokens'),
    cacheRead: first(input, 'cached_tokens') ?? first(usage, 'cached_input_tokens'),
    cacheWrite: first(input, 'cache_write_tokens') ?? first(usage, 'cache_write_input_tokens'),
    reasoning: first(made, 'reasoning_tokens'),
  })
}

export function withoutUsage(all: TokenUsage | undefined, part: TokenUsage | undefined): TokenUsage | undefined {
  return all === undefined || part === undefined ? all : combineUsage(all, part, (a, b) => Math.max(0, a - b))
}
