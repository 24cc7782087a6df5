/** A value of a JSON or JSON5 text, and where it stands: offsets into the text, the end is behind the last character. */
export type JsonNode = ScalarNode | ArrayNode | ObjectNode

interface Place {
  readonly start: number
  readonly end: number
}
export interface ScalarNode extends Place {
  readonly kind: 'scalar'
  readonly value: string | number | boolean | null
}
export interface ArrayNode extends Place {
  readonly kind: 'array'
  readonly items: readonly JsonNode[]
}
export interface ObjectNode extends Place {
  readonly kind: 'object'
  readonly items: readonly Member[]
}
export interface Member extends Place {
  readonly key: string
  readonly value: JsonNode
}

export type JsonPath = readonly (string | number)[]

const SPACE = /(?:\s|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)*/y
const STRING = /"(?:[^"\\\n\r]|\\(?:\r\n|[\s\S]))*"|'(?:[^'\\\n\r]|\\(?:\r\n|[\s\S]))*'/y
const WORD = /[^\s"',:[\]{}/]+/y
const NUMBER = /^[+-]?(?:Infinity|NaN|0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)$/
const ESCAPE = /\\(?:u([\da-fA-F]{4})|x([\da-fA-F]{2})|(\r\n|[\s\S]))/g
const ESCAPED: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', '0': '\0' }
const LITERALS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
])

/**
 * Reads JSON, or JSON5: comments, commas at the end, single quotes, names without quotes.
 *
 * @throws Error that says where the text is broken, and what was expected there
 */
export function parseJson5(text: string): JsonNode {
  return new Parser(text).document()
}

/** Whether a program that reads only JSON takes it, too. */
export function isStrictJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The value at the path; of a name that is there twice the last one, as all readers of JSON have it. */
export function nodeAt(node: JsonNode, path: JsonPath): JsonNode | undefined {
  let current: JsonNode | undefined = node
  for (const step of path) {
    if (current?.kind === 'object') current = current.items.findLast(({ key }) => key === step)?.value
    else current = current?.kind === 'array' && typeof step === 'number' ? current.items[step] : undefined
  }
  return current
}

/** Counted from 1. */
export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): JsonNode {
    const node = this.#value()
    if (this.#next() !== undefined) throw this.#trouble('the end')
    return node
  }

  #value(): JsonNode {
    const first = this.#next()
    if (first === '{') return this.#object()
    if (first === '[') return this.#array()
    const start = this.#at
    const text = this.#match(STRING)
    const value = text === undefined ? scalarOf(this.#match(WORD)) : contentOf(text)
    if (value !== undefined) return { kind: 'scalar', start, end: this.#at, value }
    this.#at = start
    throw this.#trouble('a value')
  }

  #object(): ObjectNode {
    const start = this.#at
    const items = this.#list('}', () => this.#member())
    return { kind: 'object', start, end: this.#at, items }
  }

  #array(): ArrayNode {
    const start = this.#at
    const items = this.#list(']', () => this.#value())
    return { kind: 'array', start, end: this.#at, items }
  }

  #list<Item>(close: string, read: () => Item): Item[] {
    const items: Item[] = []
    this.#at++
    while (this.#next() !== close) {
      items.push(read())
      if (this.#next() === ',') this.#at++
      else if (this.#next() !== close) throw this.#trouble(`a comma or ${close}`)
    }
    this.#at++
    return items
  }

  #member(): Member {
    const start = this.#at
    const text = this.#match(STRING)
    const key = text === undefined ? this.#match(WORD) : contentOf(text)
    if (key === undefined) throw this.#trouble('a name or }')
    if (this.#next() !== ':') throw this.#trouble('a colon')
    this.#at++
    const value = this.#value()
    return { start, end: value.end, key, value }
  }

  /** The first character behind spaces and comments; undefined at the end. */
  #next(): string | undefined {
    this.#match(SPACE)
    return this.#text[this.#at]
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#text)?.[0]
    this.#at += match?.length ?? 0
    return match
  }

  #trouble(expected: string): Error {
    const line = lineOf(this.#text, this.#at)
    const column = this.#at - this.#text.lastIndexOf('\n', this.#at - 1)
    return new Error(`line ${line}, column ${column}: expected ${expected}`)
  }
}

function scalarOf(word: string | undefined): ScalarNode['value'] | undefined {
  if (word === undefined) return undefined
  return NUMBER.test(word) ? Number(word) : LITERALS.get(word)
}

function contentOf(quoted: string): string {
  return quoted.slice(1, -1).replace(ESCAPE, (_, unicode?: string, hex?: string, other?: string) => {
    if (other === undefined) return String.fromCharCode(Number.parseInt((unicode ?? hex) as string, 16))
    return /[\r\n\u2028\u2029]/.test(other) ? '' : (ESCAPED[other] ?? other)
  })
}
