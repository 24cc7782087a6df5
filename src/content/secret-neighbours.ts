import { keepAll } from './clip.ts'
import { isNameField, isValueField, isValueOf } from './secret-pairs.ts'
import { MASK } from './secret-span.ts'

/** How every string (decoded, keys included) is masked, and the values under which keys. */
export interface Masking {
  leaf(text: string): string
  isSecret(key: string): boolean
  /** Short keys are read, too: somebody looks for more than keys of vendors. */
  readonly readsShortKeys?: boolean
}

const REACH = 200
const LONGEST_ARGUMENT = 2000

/**
 * What stands beside a value in its list or object and says that it is a secret: the flag in front of an argument, the
 * name of a header, a field `name` beside the field `value`. One of these for each open container.
 */
export class Neighbours {
  #previous = ''
  /** The strings of a list so far, as the one line that they are of a command. */
  #line = ''
  #isNamed = false

  /** What masks the list's next string, also where only what stands in front of it says that it is a secret. */
  leafOf(masking: Masking): (text: string) => string {
    return masking.leaf === keepAll ? keepAll : text => this.#element(text, masking)
  }

  #element(text: string, { leaf, isSecret }: Masking): string {
    const redacted = leaf(text)
    const isHidden = this.#isSecretArgument(redacted, leaf, isSecret)
    this.#previous = text.length <= REACH ? text : ''
    this.#line = `${this.#line} ${text.slice(0, REACH)}`.slice(-REACH)
    return isHidden ? MASK : redacted
  }

  #isSecretArgument(text: string, leaf: Masking['leaf'], isSecret: Masking['isSecret']): boolean {
    const first = this.#previous
    if (first === '' || text === '' || text.length > LONGEST_ARGUMENT) return false
    if (isSecret(first) && isValueOf(first, text)) return true
    if (text.includes(MASK) || (!first.startsWith('-') && !text.startsWith('-'))) return false
    // Behind its flag an argument is one word, whatever it holds.
    const word = text.replace(/\s/g, '_')
    return !leaf(`${this.#line} ${word}`).endsWith(` ${word}`)
  }

  /** A field of the object, before its value is looked at. */
  isSecretField(key: string): boolean {
    return this.#isNamed && isValueField(key)
  }

  /** A field whose value is this text. */
  field(key: string, text: string, { isSecret }: Masking): void {
    if (isNameField(key) && isSecret(text)) this.#isNamed = true
  }
}
