/** What a request used, by the names of an expectation's facts. */
export interface Used {
  readonly in: number
  readonly out: number
  readonly cr: number
  readonly cw: number
  readonly rs: number
}

/** All kinds of tokens, from one number. */
export function usageOf(tokens: number): Used {
  const out = tokens % 97
  return { in: tokens, out, cr: Math.floor(tokens / 2), cw: tokens % 7, rs: out % 5 }
}

/** As a host tells it. */
export function usageFields(used: Used): object {
  return {
    prompt_tokens: used.in,
    output_tokens: used.out,
    cache_read_tokens: used.cr,
    cache_write_tokens: used.cw,
    reasoning_tokens: used.rs,
  }
}

/** As the span of the request says it. */
export function usageFacts(used: Used): Record<string, number> {
  return { tokensIn: used.in, tokensOut: used.out }
}
