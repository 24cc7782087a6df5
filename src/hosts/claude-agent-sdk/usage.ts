import { numberOf, peek } from '../../contract/foreign.ts'

/** Tokens, counted as the contract counts them: the cache is a part of the input, thinking a part of the output. */
export interface Tokens {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly reasoning: number
}

export const NO_TOKENS: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 }

function count(value: unknown): number {
  return Math.max(0, numberOf(value) ?? 0)
}

/** `usage` of a message or a result: Anthropic's, whose input leaves the cache out. Undefined where nothing is said. */
export function tokensOf(usage: unknown): Tokens | undefined {
  const cacheRead = count(peek(usage, 'cache_read_input_tokens'))
  const cacheWrite = count(peek(usage, 'cache_creation_input_tokens'))
  const input = count(peek(usage, 'input_tokens')) + cacheRead + cacheWrite
  const output = count(peek(usage, 'output_tokens'))
  const reasoning = count(peek(peek(usage, 'output_tokens_details'), 'thinking_tokens'))
  return input + output === 0 ? undefined : { input, output, cacheRead, cacheWrite, reasoning }
}

/** What the SDK counted for all models since the result before, children and side calls included. */
export function tokensOfModels(byModel: unknown): Tokens | undefined {
  if (typeof byModel !== 'object' || byModel === null) return undefined
  return Object.values(byModel).map(tokensOfModel).reduce(plus, NO_TOKENS)
}

function tokensOfModel(usage: unknown): Tokens {
  const cacheRead = count(peek(usage, 'cacheReadInputTokens'))
  const cacheWrite = count(peek(usage, 'cacheCreationInputTokens'))
  return {
    input: count(peek(usage, 'inputTokens')) + cacheRead + cacheWrite,
    output: count(peek(usage, 'outputTokens')),
    cacheRead,
    cacheWrite,
    reasoning: count(peek(usage, 'thinkingTokens')),
  }
}

function combine(one: Tokens, other: Tokens, how: (a: number, b: number) => number): Tokens {
  return {
    input: how(one.input, other.input),
    output: how(one.output, other.output),
    cacheRead: how(one.cacheRead, other.cacheRead),
    cacheWrite: how(one.cacheWrite, other.cacheWrite),
    reasoning: how(one.reasoning, other.reasoning),
  }
}

export function plus(one: Tokens, other: Tokens): Tokens {
  return combine(one, other, (a, b) => a + b)
}

export function minus(one: Tokens, other: Tokens): Tokens {
  return combine(one, other, (a, b) => a - b)
}

export function larger(one: Tokens, other: Tokens): Tokens {
  return combine(one, other, Math.max)
}

export function smaller(one: Tokens, other: Tokens): Tokens {
  return combine(one, other, Math.min)
}

/** In the words of the contract. */
export function usagePayload(tokens: Tokens): Readonly<Record<string, number>> {
  return {
    prompt_tokens: tokens.input,
    output_tokens: tokens.output,
    cache_read_tokens: tokens.cacheRead,
    cache_write_tokens: tokens.cacheWrite,
    reasoning_tokens: tokens.reasoning,
    total_tokens: tokens.input + tokens.output,
  }
}
