import { elementsOf, numberOf, peek } from '../../contract/foreign.ts'

/** Tokens of one model request, in the words of the contract. The cache is inside the prompt, reasoning inside the output. */
export interface Tokens {
  readonly prompt_tokens: number
  readonly output_tokens: number
  readonly total_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  readonly reasoning_tokens: number
}

function first(usage: unknown, ...names: readonly string[]): number | undefined {
  for (const name of names) {
    const tokens = numberOf(peek(usage, name))
    if (tokens !== undefined && tokens >= 0) return tokens
  }
  return undefined
}

/** The SDK's own usage has its details in a list, one for each request; the API's has an object. */
function details(usage: unknown, ...names: readonly string[]): unknown {
  for (const name of names) {
    const said = peek(usage, name)
    if (said !== undefined && said !== null) return elementsOf(said, 1)[0] ?? said
  }
  return undefined
}

/** Usage as the Responses API, the chat completions API and the SDK spell it. Undefined where nothing was counted. */
export function tokensOf(usage: unknown): Tokens | undefined {
  const prompt = first(usage, 'input_tokens', 'prompt_tokens', 'inputTokens', 'promptTokens') ?? 0
  const output = first(usage, 'output_tokens', 'completion_tokens', 'outputTokens', 'completionTokens') ?? 0
  if (prompt + output === 0) return undefined
  const input = details(usage, 'input_tokens_details', 'prompt_tokens_details', 'inputTokensDetails')
  const made = details(usage, 'output_tokens_details', 'completion_tokens_details', 'outputTokensDetails')
  return {
    prompt_tokens: prompt,
    output_tokens: output,
    total_tokens: prompt + output,
    cache_read_tokens: first(input, 'cached_tokens') ?? first(usage, 'cached_input_tokens') ?? 0,
    cache_write_tokens: first(input, 'cache_write_tokens') ?? first(usage, 'cache_write_input_tokens') ?? 0,
    reasoning_tokens: first(made, 'reasoning_tokens') ?? 0,
  }
}

export function sum(one: Tokens | undefined, other: Tokens | undefined): Tokens | undefined {
  return one === undefined || other === undefined ? (one ?? other) : combine(one, other, 1)
}

/** What remains of a loop's tokens when those of the agents below it are taken off. */
export function without(all: Tokens | undefined, part: Tokens | undefined): Tokens | undefined {
  return all === undefined || part === undefined ? all : combine(all, part, -1)
}

function combine(one: Tokens, other: Tokens, sign: 1 | -1): Tokens {
  const of = (name: keyof Tokens): number => Math.max(0, one[name] + sign * other[name])
  return {
    prompt_tokens: of('prompt_tokens'),
    output_tokens: of('output_tokens'),
    total_tokens: of('total_tokens'),
    cache_read_tokens: of('cache_read_tokens'),
    cache_write_tokens: of('cache_write_tokens'),
    reasoning_tokens: of('reasoning_tokens'),
  }
}
