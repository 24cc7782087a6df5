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

function single(code: number): CharacterSet {
  return range(code, code)
}

const DIGITS = range(48, 57)
const WORD = DIGITS | range(65, 90) | range(97, 122) | single(95)
const SPACE = range(9, 13) | single(32) | OTHERS
const NEWLINES = single(10) | single(13)
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
    return { type: 'character', set: single(character.charCodeAt(0)) }
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
      if (digits !== undefined) return single(Number.parseInt(digits, 16))
      return single(code[4] === undefined ? 0 : code[4].charCodeAt(0) % 32)
    }
    const character = this.#peek()
    if (this.#match(NAMED) === undefined) this.#at++
    const control = CONTROLS[character]
    return control === undefined ? (CLASSES[character] ?? single(character.charCodeAt(0))) : single(control)
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
    return character === '\\' ? this.#escapedSet() : single(character.charCodeAt(0))
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
  if (!isSingle(first) || !isSingle(last)) return first | last | single(45)
  let set = last
  for (let bit = first; bit < last; bit <<= 1n) set |= bit
  return set
}

export function parseRegex(source: string): RegexNode {
  return new RegexReader(source).choice()
}

/** Assumed run of characters for a repeat without an upper bound. */
const LONG_RUN = 1000

export function isNullable(node: RegexNode): boolean {
  switch (node.type) {
    case 'character':
      return false
    case 'sequence':
      return node.items.every(isNullable)
    case 'choice':
      return node.options.some(isNullable)
    case 'repeat':
      return node.min === 0 || isNullable(node.body)
    default:
      return true
  }
}

function firstOf(node: RegexNode): CharacterSet {
  switch (node.type) {
    case 'character':
      return node.set
    case 'sequence':
      return firstOfRest(node.items, 0n)
    case 'choice':
      return node.options.reduce((set, option) => set | firstOf(option), 0n)
    case 'repeat':
      return node.max === 0 ? 0n : firstOf(node.body)
    case 'empty':
      return 0n
    default:
      return ANY
  }
}

function firstOfRest(items: readonly RegexNode[], follow: CharacterSet): CharacterSet {
  let set = 0n
  for (const item of items) {
    set |= firstOf(item)
    if (!isNullable(item)) return set
  }
  return set | follow
}

/** The character sets that a match certainly begins with, one per position. */
function beginning(node: RegexNode): CharacterSet[] {
  if (node.type === 'character') return [node.set]
  if (node.type !== 'sequence') return []
  const sets: CharacterSet[] = []
  for (const item of node.items) {
    if (item.type !== 'character') break
    sets.push(item.set)
  }
  return sets
}

/** True if no text can begin both: `foo|fob` differ in their third character, `a|aa` in none. */
function exclude(one: RegexNode, other: RegexNode): boolean {
  const others = beginning(other)
  if (beginning(one).some((set, place) => ((others[place] ?? ANY) & set) === 0n)) return true
  return !isNullable(one) && !isNullable(other) && (firstOf(one) & firstOf(other)) === 0n
}

export function charactersOf(node: RegexNode): CharacterSet {
  switch (node.type) {
    case 'character':
      return node.set
    case 'sequence':
      return node.items.reduce((set, item) => set | charactersOf(item), 0n)
    case 'choice':
      return node.options.reduce((set, option) => set | charactersOf(option), 0n)
    case 'repeat':
      return charactersOf(node.body)
    default:
      return node.type === 'reference' ? ANY : 0n
  }
}

interface Cost {
  /** Number of ways to match at one position: how often the rest may be tried. */
  readonly ways: number
  readonly steps: number
}

function costOf(node: RegexNode, follow: CharacterSet): Cost {
  switch (node.type) {
    case 'sequence':
      return costOfSequence(node.items, follow)
    case 'choice':
      return costOfChoice(node.options, follow)
    case 'repeat':
      return costOfRepeat(node, follow)
    case 'assertion':
      return { ways: 1, steps: node.body === undefined ? 1 : costOf(node.body, ANY).steps }
    case 'reference':
      return { ways: LONG_RUN, steps: LONG_RUN }
    default:
      return { ways: 1, steps: 1 }
  }
}

function costOfSequence(items: readonly RegexNode[], follow: CharacterSet): Cost {
  let ways = 1
  let steps = 0
  /** The certain characters between here and the last item that can end in several positions. */
  const between = new Set<CharacterSet>()
  items.forEach((item, at) => {
    const cost = costOf(item, firstOfRest(items.slice(at + 1), follow))
    const characters = charactersOf(item)
    // The semicolons of `.*;\d+` each begin another run of digits. Together, these runs are no longer than the text.
    const isApart = [...between].some(set => (set & characters) === 0n)
    steps += isApart ? cost.steps + ways : cost.steps * ways
    ways *= cost.ways
    if (cost.ways > 1) between.clear()
    else for (const set of beginning(item)) between.add(set)
  })
  return { ways, steps }
}

function costOfChoice(options: readonly RegexNode[], follow: CharacterSet): Cost {
  const costs = options.map(option => costOf(option, follow))
  const areExclusive = options.every((one, at) => options.slice(at + 1).every(other => exclude(one, other)))
  const ways = costs.map(cost => cost.ways)
  return {
    ways: areExclusive ? Math.max(...ways) : ways.reduce((sum, each) => sum + each, 0),
    steps: costs.reduce((sum, cost) => sum + cost.steps, 0),
  }
}

function costOfRepeat(node: RegexNode & { type: 'repeat' }, follow: CharacterSet): Cost {
  const first = firstOf(node.body)
  const once = costOf(node.body, first | follow)
  const times = Math.min(node.max, LONG_RUN)
  const canEndAnywhere = (first & follow) !== 0n || isNullable(node.body)
  const ends = canEndAnywhere ? Math.min(node.max - node.min, LONG_RUN) + 1 : 1
  // Rounds with only one way advance through the text. With several ways, each round multiplies.
  if (once.ways === 1) return { ways: ends, steps: times + once.steps }
  return { ways: ends * once.ways ** times, steps: once.steps * once.ways ** times }
}

/** Steps at one position of the worst text. Infinite for patterns that backtrack exponentially. */
export function mostSteps(tree: RegexNode): number {
  return costOf(tree, 0n).steps
}
