import { MASK } from '../content/secret-span.ts'
import { isPromise, kindOf } from '../contract/foreign.ts'

/** Takes a text and gives back what may be seen of it. */
export type Redact = (text: string) => string

/**
 * A redactor that was handed in, made harmless. What it fails on is withheld as a whole: nobody knows what it would have
 * taken out.
 */
export function guardedRedact(redact: Redact, warn: (line: string) => void): Redact {
  let isTold = false
  const withhold = (why: string): string => {
    if (!isTold) warn(`redact: it ${why}; such texts are withheld as ${MASK}`)
    isTold = true
    return MASK
  }
  return text => {
    try {
      const redacted: unknown = redact(text)
      if (typeof redacted === 'string') return redacted
      return withhold(isPromise(redacted) ? 'returned a promise' : 'returned no text')
    } catch (error) {
      return withhold(`threw ${kindOf(error)}`)
    }
  }
}
