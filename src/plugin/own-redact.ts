import { MASK } from '../content/secret-span.ts'
import { isPromise, kindOf } from '../contract/foreign.ts'

/** Returns a text without what must not be seen. */
export type Redact = (text: string) => string

/** Guards a user's redactor. If it fails, the whole text is withheld: it is unknown what would have been removed. */
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
