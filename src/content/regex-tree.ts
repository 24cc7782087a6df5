/**
 * Parses a regular expression into a tree with the details needed to detect bad backtracking: which characters can match
 * where, and what repeats. The source must have been accepted by `new RegExp`.
 */

/** One bit for each ASCII character, and one for all others. */
export type CharacterSet = bigint

export type RegexNode =
  | { readonly type: 'character'; readonly set: CharacterSet }
  /** Matches no characters and does not affect the length of neighbouring matches: a word boundary. */
  | { readonly type: 'empty' }
  /** Matches no characters, but can reject the end of neighbouring matches: `$`, a look-around. */
  | { readonly type: 'assertion'; readonly body: RegexNode | undefined }
  | { readonly type: 'reference' }
  | { readonly type: 'sequence'; readonly items: readonly RegexNode[] }
  | { readonly type: 'choice'; readonly options: readonly RegexNode[] }
  | { readonly type: 'repeat'; readonly body: RegexNode; readonly min: number; readonly max: number }

const OTHERS = 1n << 128n
export const ANY: CharacterSet = (OTHERS << 1n) - 1n

function range(first: number, last: number): CharacterSet {
  let set = last > 127 ? OTHERS : 0n
  for (let code = first; code <= Math.min(last, 127); code++) set |= 1n << BigInt(code)
  return set
}

const DIGITS = range(48, 57)
const WORD = DIGITS | range(65, 90) | range(97, 122) | range(95, 95)
const SPACE = range(9, 13) | range(32, 32) | OTHERS
const NEWLINES = range(10, 10) | range(13, 13)
const CLASSES: Readonly<Record<string, CharacterSet>> = {
  d: DIGITS,
  D: ANY & ~DIGITS,
  w: WORD,
  W: ANY & ~WORD,
  s: SPACE,
  S: ANY & ~(SPACE & ~OTHERS),
  p: ANY,
  P: ANY,
}
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, b: 8 }

const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y
const GROUP = /\((?:\?(?:([=!])|<([=!])|<[^>]*>|[a-z-]*:))?/y
const CODE = /x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]+)\}|c([A-Za-z])|(0)/y
const NAMED = /k<[^>]*>|[pP]\{[^}]*\}/y

class RegexReader {
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  choice(): RegexNode {
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    const [only] = options
    return options.length === 1 && only !== undefined ? only : { type: 'choice', options }
  }

  #sequence(): RegexNode {
    const items: RegexNode[] = []
    while (this.#at < this.#source.length && !'|)'.includes(this.#peek())) items.push(this.#repeated(this.#atom()))
    return { type: 'sequence', items }
  }

  #repeated(body: RegexNode): RegexNode {
    const found = this.#match(QUANTIFIER)
    if (found === undefined) return body
    const [, sign, least, comma, most] = found
    if (sign !== undefined) return { type: 'repeat', body, min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity }
    const min = Number(least)
    return { type: 'repeat', body, min, max: comma === undefined ? min : most === '' ? Infinity : Number(most) }
  }

  #atom(): RegexNode {
    const character = this.#peek()
    if (character === '(') return this.#group()
    if (character === '[') return { type: 'character', set: this.#class() }
    this.#at++
    if (character === '\\') return this.#escape()
    if (character === '.') return { type: 'character', set: ANY & ~NEWLINES }
    if (character === '^' || character === '$') return { type: 'assertion', body: undefined }
    return { type: 'character', set: this.#literal(character) }
  }

  #group(): RegexNode {
    const opened = this.#match(GROUP)
    const body = this.choice()
    this.#take(')')
    return opened?.[1] !== undefined || opened?.[2] !== undefined ? { type: 'assertion', body } : body
  }

  #escape(): RegexNode {
    const character = this.#peek()
    if (character === 'b' || character === 'B') {
      this.#at++
      return { type: 'empty' }
    }
    if (/[1-9k]/.test(character)) {
      if (this.#match(NAMED) === undefined) this.#at++
      return { type: 'reference' }
    }
    return { type: 'character', set: this.#escapedSet() }
  }

  #escapedSet(): CharacterSet {
    const code = this.#match(CODE)
    if (code !== undefined) {
      const digits = code[1] ?? code[2] ?? code[3]
      if (digits !== undefined) return this.#codeSet(Number.parseInt(digits, 16))
      return this.#codeSet(code[4] === undefined ? 0 : code[4].charCodeAt(0) % 32)
    }
    const character = this.#peek()
    if (this.#match(NAMED) === undefined) this.#at++
    const control = CONTROLS[character]
    return control === undefined ? (CLASSES[character] ?? this.#literal(character)) : this.#codeSet(control)
  }

  #class(): CharacterSet {
    this.#at++
    const isNegated = this.#take('^')
    let set = 0n
    while (this.#at < this.#source.length && !this.#take(']')) {
      const first = this.#classMember()
      if (this.#peek() === '-' && this.#source[this.#at + 1] !== ']') {
        this.#at++
        set |= span(first, this.#classMember())
      } else {
        set |= first
      }
    }
    return isNegated ? ANY & ~(set & ~OTHERS) : set
  }

  #classMember(): CharacterSet {
    const character = this.#peek()
    this.#at++
    return character === '\\' ? this.#escapedSet() : this.#literal(character)
  }

  #literal(character: string): CharacterSet {
    return this.#codeSet(character.charCodeAt(0))
  }

  #codeSet(code: number): CharacterSet {
    return range(code, code)
  }

  #peek(): string {
    return this.#source.charAt(this.#at)
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false
    this.#at++
    return true
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#source) ?? undefined
    if (found !== undefined) this.#at = pattern.lastIndex
    return found
  }
}

/** Every character between two single ones. If either end is a class (`[\w-x]`), the dash is a literal. */
function span(first: CharacterSet, last: CharacterSet): CharacterSet {
  const isSingle = (set: CharacterSet): boolean => (set & (set - 1n)) === 0n
  if (!isSingle(first) || !isSingle(last)) return first | last | range(45, 45)
  let set = last
  for (let bit = first; bit < last; bit <<= 1n) set |= bit
  return set
}

export function parseRegex(source: string): RegexNode {
  return new RegexReader(source).choice()
}
