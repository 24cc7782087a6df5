import { numberOf } from '../../contract/foreign.ts'

/** Tokens, as the contract counts them: the cache is a part of the prompt, reasoning a part of the output. */
export interface Usage {
  readonly prompt_tokens: number
  readonly output_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  /** The part of them that is kept for an hour, where there is any. */
  readonly cache_write_1h_tokens?: number | undefined
  readonly reasoning_tokens: number
  readonly total_tokens: number
}

/** What an agent says, by whatever names. */
export interface Counts {
  readonly input: unknown
  readonly output: unknown
  readonly cacheRead?: unknown
  readonly cacheWrite?: unknown
  readonly cacheWriteLong?: unknown
  readonly reasoning?: unknown
}

/** Where an agent counts otherwise. */
export interface Counting {
  /** Its input leaves out what the cache gave and took. */
  readonly cacheIsOutside?: boolean
  /** Its output leaves out what was reasoning. */
  readonly reasoningIsOutside?: boolean
}

function count(tokens: unknown): number {
  return Math.max(0, numberOf(tokens) ?? 0)
}

/** Undefined where nothing was used: that is what agents say of a request that did not end. */
export function usageOf(counts: Counts, { cacheIsOutside, reasoningIsOutside }: Counting = {}): Usage | undefined {
  const cacheRead = count(counts.cacheRead)
  const cacheWrite = count(counts.cacheWrite)
  const reasoning = count(counts.reasoning)
  const prompt = count(counts.input) + (cacheIsOutside === true ? cacheRead + cacheWrite : 0)
  const output = count(counts.output) + (reasoningIsOutside === true ? reasoning : 0)
  return prompt + output === 0
    ? undefined
    : usage(prompt, output, cacheRead, cacheWrite, reasoning, count(counts.cacheWriteLong))
}

function usage(
  prompt: number,
  output: number,
  cacheRead: number,
  cacheWrite: number,
  reasoning: number,
  cacheWriteLong = 0,
): Usage {
  return {
    prompt_tokens: prompt,
    output_tokens: output,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    ...(cacheWriteLong > 0 && { cache_write_1h_tokens: cacheWriteLong }),
    reasoning_tokens: reasoning,
    total_tokens: prompt + output,
  }
}

export const NO_USAGE: Usage = usage(0, 0, 0, 0, 0)

/** Each number of both by one rule: `plus`, `minus`, `Math.max`, `Math.min`. */
export function combined(one: Usage, other: Usage, rule: (a: number, b: number) => number): Usage {
  return usage(
    rule(one.prompt_tokens, other.prompt_tokens),
    rule(one.output_tokens, other.output_tokens),
    rule(one.cache_read_tokens, other.cache_read_tokens),
    rule(one.cache_write_tokens, other.cache_write_tokens),
    rule(one.reasoning_tokens, other.reasoning_tokens),
    rule(one.cache_write_1h_tokens ?? 0, other.cache_write_1h_tokens ?? 0),
  )
}

export const plus = (a: number, b: number): number => a + b
export const minus = (a: number, b: number): number => a - b

export function sum(one: Usage | undefined, other: Usage | undefined): Usage | undefined {
  return one === undefined || other === undefined ? (one ?? other) : combined(one, other, plus)
}

/** The same as hooks that act are told it: their `ModelUsage`, which machines know nothing of. */
export function modelUsage(
  usage: Usage | undefined,
  costUsd?: number,
): { readonly inputTokens: number; readonly outputTokens: number; readonly costUsd: number | undefined } | undefined {
  return usage && { inputTokens: usage.prompt_tokens, outputTokens: usage.output_tokens, costUsd }
}
