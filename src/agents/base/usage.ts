import { numberOf, peek } from '../../contract/foreign.ts'

/**
 * Token counts of the contract: the prompt includes the cache, the output includes reasoning. `cache_write_1h_tokens`: the part
 * of the cache writes that is kept for an hour, if any.
 */
export interface UsageCounts {
  readonly prompt_tokens: number
  readonly output_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  readonly cache_write_1h_tokens?: number | undefined
  readonly reasoning_tokens: number
  readonly total_tokens: number
}

export interface ReportedCounts {
  readonly input: unknown
  readonly output: unknown
  readonly cacheRead?: unknown
  readonly cacheWrite?: unknown
  readonly cacheWriteLong?: unknown
  readonly reasoning?: unknown
}

/** Set if the input count excludes cache reads and writes, or the output count excludes reasoning. */
export interface CountRules {
  readonly cacheIsOutside?: boolean
  readonly reasoningIsOutside?: boolean
}

function count(tokens: unknown): number {
  return Math.max(0, numberOf(tokens) ?? 0)
}

/** Returns undefined if all counts are zero: agents report zeros for a request that did not end. */
export function usageOf(counts: ReportedCounts, rules: CountRules = {}): UsageCounts | undefined {
  const cacheRead = count(counts.cacheRead)
  const cacheWrite = count(counts.cacheWrite)
  const reasoning = count(counts.reasoning)
  const prompt = count(counts.input) + (rules.cacheIsOutside === true ? cacheRead + cacheWrite : 0)
  const output = count(counts.output) + (rules.reasoningIsOutside === true ? reasoning : 0)
  const long = count(counts.cacheWriteLong)
  if (prompt + output === 0) return undefined
  return {
    prompt_tokens: prompt,
    output_tokens: output,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    cache_write_1h_tokens: long > 0 ? long : undefined,
    reasoning_tokens: reasoning,
    total_tokens: prompt + output,
  }
}

export type CountNames = { readonly [Count in keyof ReportedCounts]: string }

export function readUsage(usage: unknown, names: CountNames, rules?: CountRules): UsageCounts | undefined {
  const counts = {
    input: peek(usage, names.input),
    output: peek(usage, names.output),
    cacheRead: peek(usage, names.cacheRead ?? ''),
    cacheWrite: peek(usage, names.cacheWrite ?? ''),
    cacheWriteLong: peek(usage, names.cacheWriteLong ?? ''),
    reasoning: peek(usage, names.reasoning ?? ''),
  }
  return usageOf(counts, rules)
}

/** Usage of Anthropic's messages, whose input count excludes the cache. Returns undefined if there are no counts. */
export function anthropicUsage(usage: unknown): UsageCounts | undefined {
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

export const NO_USAGE: UsageCounts = {
  ...{ prompt_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 },
  total_tokens: 0,
}

export function combineUsage(one: UsageCounts, other: UsageCounts, rule: typeof plus): UsageCounts {
  const prompt = rule(one.prompt_tokens, other.prompt_tokens)
  const output = rule(one.output_tokens, other.output_tokens)
  const long = rule(one.cache_write_1h_tokens ?? 0, other.cache_write_1h_tokens ?? 0)
  return {
    prompt_tokens: prompt,
    output_tokens: output,
    cache_read_tokens: rule(one.cache_read_tokens, other.cache_read_tokens),
    cache_write_tokens: rule(one.cache_write_tokens, other.cache_write_tokens),
    cache_write_1h_tokens: long > 0 ? long : undefined,
    reasoning_tokens: rule(one.reasoning_tokens, other.reasoning_tokens),
    total_tokens: prompt + output,
  }
}

export const plus = (a: number, b: number): number => a + b
export const minus = (a: number, b: number): number => a - b

export function addUsage(one: UsageCounts | undefined, other: UsageCounts | undefined): UsageCounts | undefined {
  return one === undefined || other === undefined ? (one ?? other) : combineUsage(one, other, plus)
}

/** Converts usage to the `ModelUsage` of guards, a type that machines do not import. */
export function modelUsage(
  usage: UsageCounts | undefined,
  costUsd?: number,
): { readonly inputTokens: number; readonly outputTokens: number; readonly costUsd: number | undefined } | undefined {
  return usage && { inputTokens: usage.prompt_tokens, outputTokens: usage.output_tokens, costUsd }
}
