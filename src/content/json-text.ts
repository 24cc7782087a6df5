import { keepAll, redactWithin } from './clip.ts'
import { type BoundedJson, JsonWriter } from './json-writer.ts'
import { type Masking, Neighbours } from './secret-neighbours.ts'
import { endOfMatch, MASK } from './secret-span.ts'
import { namesNoSecret } from './secret-values.ts'

export interface JsonRewrite extends Masking {
  readonly keepsSpace: boolean
}

const SPACE = /[ \t\n\r]*/y
const EMPTY = /[ \t\n\r]{0,100}[}\]]/y
/** Matches up to the closing quote, or the first character that is not part of a string. */
const STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[ !#-[\]-\uffff]*)*/y
const CUT_ESCAPE = /\\(?:u[\da-fA-F]{0,3})?$/y
const NUMBER_CHARACTERS = /[-+.\deE]+/y
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const LITERALS = ['true', 'false', 'null']

type Expected = 'value' | 'first element' | 'first key' | 'key' | 'colon' | 'next' | 'end'
/** `cut`: the text ends before its JSON is complete. */
type Step = 'go on' | 'cut' | 'malformed'

class JsonTextWalk {
  readonly writer: JsonWriter
  readonly #text: string
  readonly #rewrite: JsonRewrite
  readonly #open: ('{' | '[')[] = []
  #at = 0
  #expected: Expected = 'value'
  #lead = ''
  #isUnderSecretKey = false
  #keyText = ''
  readonly #neighbours: Neighbours[] = []
  /** Number of open containers around a masked one, which is parsed but not written. */
  #mutedAt = Number.POSITIVE_INFINITY

  constructor(text: string, maxChars: number, rewrite: JsonRewrite) {
    this.writer = new JsonWriter(maxChars)
    this.#text = text
    this.#rewrite = rewrite
  }

  run(): boolean {
    let step: Step = 'go on'
    while (step === 'go on' && !this.writer.isFull) {
      const gap = this.#match(SPACE)
      if (this.#at >= this.#text.length) break
      if (this.#rewrite.keepsSpace && !this.#isMuted) this.#lead += gap
      step = this.#step()
    }
    if (step === 'malformed') return false
    if (this.#expected !== 'end') this.writer.isTruncated = true
    for (const bracket of this.#open.slice(0, this.#mutedAt).reverse()) this.writer.close(bracket === '{' ? '}' : ']')
    return true
  }

  get #isMuted(): boolean {
    return this.#open.length > this.#mutedAt
  }

  #step(): Step {
    const character = this.#text.charAt(this.#at)
    switch (this.#expected) {
      case 'value':
        return this.#value(character)
      case 'first element':
        return character === ']' ? this.#close('[') : this.#value(character)
      case 'first key':
        return character === '}' ? this.#close('{') : this.#key(character)
      case 'key':
        return this.#key(character)
      case 'colon':
        return this.#punctuation(character, ':', 'value')
      case 'next':
        return this.#next(character)
      case 'end':
        return 'malformed'
    }
  }

  #value(character: string): Step {
    if (character === '{' || character === '[') return this.#openContainer(character)
    if (character === '"') return this.#stringValue()
    return character === '-' || (character >= '0' && character <= '9') ? this.#number() : this.#literal()
  }

  #openContainer(bracket: '{' | '['): Step {
    this.#at++
    if (this.#isUnderSecretKey && !this.#isMuted && !this.#isEmpty()) {
      this.#put(lead => this.writer.scalar(lead, `"${MASK}"`))
      this.#mutedAt = this.#open.length
    } else {
      this.#put(lead => this.writer.open(lead, bracket))
    }
    // A container that did not fit must not be closed.
    if (!this.writer.isFull) {
      this.#open.push(bracket)
      this.#neighbours.push(new Neighbours())
    }
    this.#isUnderSecretKey = false
    this.#expected = bracket === '{' ? 'first key' : 'first element'
    return 'go on'
  }

  /** An empty container reveals no secret. */
  #isEmpty(): boolean {
    return endOfMatch(EMPTY, this.#text, this.#at) !== -1
  }

  #close(bracket: '{' | '['): Step {
    this.#at++
    const isMuted = this.#isMuted
    this.#open.pop()
    this.#neighbours.pop()
    if (!isMuted) {
      if (this.#lead.length <= this.writer.room) this.writer.scalar(this.#lead, '')
      this.writer.close(bracket === '{' ? '}' : ']')
    } else if (!this.#isMuted) {
      this.#mutedAt = Number.POSITIVE_INFINITY
    }
    this.#afterValue()
    return 'go on'
  }

  #next(character: string): Step {
    const bracket = this.#open.at(-1) ?? '['
    if (character === (bracket === '{' ? '}' : ']')) return this.#close(bracket)
    return this.#punctuation(character, ',', bracket === '{' ? 'key' : 'value')
  }

  #punctuation(character: string, mark: string, expected: Expected): Step {
    if (character !== mark) return 'malformed'
    this.#at++
    if (!this.#isMuted) this.#lead += mark
    this.#expected = expected
    return 'go on'
  }

  #key(character: string): Step {
    if (character !== '"') return 'malformed'
    const key = this.#string()
    if (typeof key === 'string') return key
    if (key.isCut) return 'cut'
    this.#keyText = key.text
    this.#isUnderSecretKey =
      this.#rewrite.isSecret(key.text) || (this.#neighbours.at(-1)?.isSecretField(key.text) ?? false)
    if (!this.#isMuted) this.#lead += JSON.stringify(this.#redacted(key).text)
    this.#expected = 'colon'
    return 'go on'
  }

  #stringValue(): Step {
    const value = this.#string()
    if (typeof value === 'string') return value
    if (this.#isUnderSecretKey && !namesNoSecret(value.text)) this.#put(lead => this.writer.scalar(lead, `"${MASK}"`))
    else this.#put(lead => this.writer.string(lead, this.#redacted(value, this.#leafOfValue(value.text))))
    if (value.isCut) return 'cut'
    this.#afterValue()
    return 'go on'
  }

  #leafOfValue(text: string): (text: string) => string {
    const neighbours = this.#neighbours.at(-1)
    if (neighbours === undefined) return this.#rewrite.leaf
    if (this.#open.at(-1) === '[') return neighbours.leafOf(this.#rewrite)
    neighbours.field(this.#keyText, text, this.#rewrite)
    return this.#rewrite.leaf
  }

  #redacted(value: { text: string; isCut: boolean }, leaf = this.#rewrite.leaf): { text: string; isCut: boolean } {
    return redactWithin(value, this.writer.room - this.#lead.length, leaf)
  }

  #string(): { text: string; isCut: boolean } | 'malformed' {
    const raw = this.#match(STRING).slice(1)
    const text = raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw
    if (this.#text[this.#at] === '"') {
      this.#at++
      return { text, isCut: false }
    }
    const isCut = this.#at >= this.#text.length || this.#match(CUT_ESCAPE) !== ''
    return isCut ? { text, isCut } : 'malformed'
  }

  #number(): Step {
    const token = this.#match(NUMBER_CHARACTERS)
    const isLast = this.#at >= this.#text.length
    // The number is dropped: with missing digits it would be a different number.
    if (isLast && (this.#open.length > 0 || !NUMBER.test(token))) return 'cut'
    return NUMBER.test(token) ? this.#scalar(token) : 'malformed'
  }

  #literal(): Step {
    const rest = this.#text.slice(this.#at, this.#at + 5)
    const literal = LITERALS.find(each => rest.startsWith(each))
    if (literal === undefined) return LITERALS.some(each => each.startsWith(rest)) ? 'cut' : 'malformed'
    this.#at += literal.length
    return this.#scalar(literal)
  }

  #scalar(token: string): Step {
    const isHidden = this.#isUnderSecretKey && !LITERALS.includes(token)
    this.#put(lead => this.writer.scalar(lead, isHidden ? `"${MASK}"` : token))
    this.#afterValue()
    return 'go on'
  }

  #put(write: (lead: string) => boolean): void {
    if (!this.#isMuted) write(this.#lead)
    this.#lead = ''
  }

  #afterValue(): void {
    this.#lead = ''
    this.#isUnderSecretKey = false
    this.#expected = this.#open.length === 0 ? 'end' : 'next'
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += found.length
    return found
  }
}

/**
 * Rewrites JSON text, or the start of it, as valid JSON of at most `maxChars` characters. Undefined if the text is not JSON.
 * Cost is linear in the text: pass a window, not the whole.
 */
export function rewriteJson(text: string, maxChars: number, rewrite: JsonRewrite): BoundedJson | undefined {
  const walk = new JsonTextWalk(text, maxChars, rewrite)
  if (text.trim() === '' || !walk.run()) return undefined
  if (walk.writer.text.trim() !== '') return { text: walk.writer.text, truncated: walk.writer.isTruncated }
  if (maxChars < 2) return undefined
  return { text: maxChars < 5 ? '""' : '"..."', truncated: true }
}

/**
 * Completes the start of a JSON text to valid JSON of at most `maxChars` characters. Cuts at a safe place, ends open strings
 * with `...` and closes containers. Undefined if the text is not JSON. Cost is linear in its length.
 */
export function closeJson(prefix: string, maxChars: number): string | undefined {
  return rewriteJson(prefix, maxChars, { leaf: keepAll, isSecret: () => false, keepsSpace: false })?.text
}
