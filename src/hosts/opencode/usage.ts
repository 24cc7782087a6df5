import { numberOf, peek } from '../../contract/foreign.ts'

/**
 * Tokens of a step, by the contract's names. opencode's `input` leaves out what the cache gave or took, its `output` what
 * was reasoning. All zero is what a step has that did not end, so it is no usage.
 */
export function usageOf(tokens: unknown): Readonly<Record<string, number>> | undefined {
  const cache = peek(tokens, 'cache')
  const cacheRead = countOf(peek(cache, 'read'))
  const cacheWrite = countOf(peek(cache, 'write'))
  const reasoning = countOf(peek(tokens, 'reasoning'))
  const prompt = countOf(peek(tokens, 'input')) + cacheRead + cacheWrite
  const output = countOf(peek(tokens, 'output')) + reasoning
  if (prompt + output === 0) return undefined
  return {
    prompt_tokens: prompt,
    output_tokens: output,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    reasoning_tokens: reasoning,
    total_tokens: prompt + output,
  }
}

function countOf(tokens: unknown): number {
  return Math.max(0, numberOf(tokens) ?? 0)
}
