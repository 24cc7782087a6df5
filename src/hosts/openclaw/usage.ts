import { numberOf, peek } from '../../contract/foreign.ts'

/** Tokens of one model call, in the contract's words. */
export interface Usage {
  readonly prompt_tokens: number
  readonly output_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  readonly reasoning_tokens: number
  readonly total_tokens: number
}

/** OpenClaw's `input` leaves the cache out, its `output` holds the reasoning. Undefined where nothing was used. */
export function usageOf(usage: unknown): Usage | undefined {
  const count = (key: string): number => Math.max(0, numberOf(peek(usage, key)) ?? 0)
  const cacheRead = count('cacheRead')
  const cacheWrite = count('cacheWrite')
  const prompt = count('input') + cacheRead + cacheWrite
  const output = count('output')
  if (prompt + output === 0) return undefined
  return {
    prompt_tokens: prompt,
    output_tokens: output,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    reasoning_tokens: count('reasoningTokens'),
    total_tokens: prompt + output,
  }
}
