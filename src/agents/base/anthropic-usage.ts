import { peek } from '../../contract/foreign.ts'
import { type TokenUsage, usageOf } from './usage.ts'

/** Usage of Anthropic's messages, whose input count excludes the cache. Returns undefined if there are no counts. */
export function tokensOf(usage: unknown): TokenUsage | undefined {
  const counts = {
    input: peek(usage, 'input_tokens'),
    output: peek(usage, 'output_tokens'),
    cacheRead: peek(usage, 'cache_read_input_tokens'),
    cacheWrite: peek(usage, 'cache_creation_input_tokens'),
    cacheWriteLong: peek(peek(usage, 'cache_creation'), 'ephemeral_1h_input_tokens'),
    reasoning: peek(peek(usage, 'output_tokens_details'), 'thinking_tokens'),
  }
  return usageOf(counts, { cacheIsOutside: true })
}
