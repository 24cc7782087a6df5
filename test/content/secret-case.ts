/**
 * Secrets in the surroundings in which agents meet them. Every secret is made
 * up, and put together from pieces, so that no scanner stumbles over these files.
 */

export interface SecretCase {
  readonly what: string
  readonly before: string
  readonly secret: string
  readonly after: string
  /** What the masked text is, where more than the secret goes or a mask needs quotes. Default: before, mask, after. */
  readonly masked?: string
}

export function secret(what: string, before: string, value: string, after: string, masked?: string): SecretCase {
  return { what, before, secret: value, after, ...(masked === undefined ? {} : { masked }) }
}
