/** Tokens in the contract's own terms. `cacheRead` and `cacheWrite` are parts of `input`, `reasoning` of `output`. */
export interface Tokens {
  readonly input: number
  readonly output: number
  /** Input and output: never a part is added to its whole. */
  readonly total: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly reasoning: number
}

export const NO_TOKENS: Tokens = { input: 0, output: 0, total: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 }

export function sumOf(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    total: a.total + b.total,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    reasoning: a.reasoning + b.reasoning,
  }
}

type Reported = Readonly<Record<string, unknown>>

/** Only a number is one: not a boolean, not garbage; text of digits counts. */
function numberIn(usage: unknown, ...names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = (usage as Reported | undefined)?.[name]
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    if (typeof number === 'number' && Number.isFinite(number) && number >= 0) return number
  }
  return undefined
}

/**
 * What one request reported, by the rules of the contract. Undefined when it reported nothing at all.
 *
 * Written for the spellings that the workload has: the contract's, OpenAI's, Anthropic's, and Hermes', which has two at
 * once.
 */
export function canonicalUsage(usage: unknown): Tokens | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined
  const { prompt_tokens_details: ofInput, completion_tokens_details: ofOutput } = usage as Reported
  // Both spellings are subsets of the input, but only the second is counted inside `input_tokens`.
  const outsideRead = numberIn(usage, 'cache_read_tokens', 'cache_read_input_tokens')
  const cacheRead = outsideRead ?? numberIn(ofInput, 'cached_tokens') ?? 0
  const cacheWrite = numberIn(usage, 'cache_write_tokens', 'cache_creation_input_tokens') ?? 0
  const output = numberIn(usage, 'output_tokens', 'completion_tokens') ?? 0
  const reasoning = numberIn(usage, 'reasoning_tokens') ?? numberIn(ofOutput, 'reasoning_tokens') ?? 0
  // `prompt_tokens` is all input and wins; `input_tokens` is what was not cached.
  const uncached = numberIn(usage, 'input_tokens')
  const input = numberIn(usage, 'prompt_tokens') ?? (uncached ?? 0) + (outsideRead ?? 0) + cacheWrite
  if (input + output + cacheRead + cacheWrite + reasoning === 0) return undefined
  return { input, output, total: input + output, cacheRead, cacheWrite, reasoning }
}
