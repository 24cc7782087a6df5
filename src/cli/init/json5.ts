type Scalar = string | number | boolean | null

/** A path in a value: member names, and element indexes from 0. */
export type JsonPath = readonly (string | number)[]

/** A parsed text with the positions of its values. */
export interface JsonText {
  readonly value: unknown
  /** The line of the value at the path, from 1. Returns 1 if there is no such value. */
  lineOf(path: JsonPath): number
}

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
 * Parses JSON or JSON5: comments, trailing commas, single quotes, unquoted names. For duplicate names the last one counts, as
 * in all JSON parsers.
 *
 * @throws Error with the position of the fault and the expected token
 */
export function readJson5(text: string): JsonText {
  const reader = new Reader(text)
  const value = reader.document()
  return { value, lineOf: path => lineAt(text, reader.starts.get(keyOf(path)) ?? 0) }
}

function keyOf(path: JsonPath): string {
  return JSON.stringify(path)
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

class Reader {
  /** Offsets of the values by path. */
  readonly starts = new Map<string, number>()
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): unknown {
    const value = this.#value([])
    if (this.#next() !== undefined) throw this.#trouble('the end')
    return value
  }

  #value(path: JsonPath): unknown {
    const first = this.#next()
    const start = this.#at
    this.starts.set(keyOf(path), start)
    if (first === '{') return Object.fromEntries(this.#list('}', () => this.#member(path)))
    if (first === '[') return this.#list(']', index => this.#value([...path, index]))
    const text = this.#match(STRING)
    const value = text === undefined ? scalarOf(this.#match(WORD)) : contentOf(text)
    if (value !== undefined) return value
    this.#at = start
    throw this.#trouble('a value')
  }

  #list<Item>(close: string, read: (index: number) => Item): Item[] {
    const items: Item[] = []
    this.#at++
    while (this.#next() !== close) {
      items.push(read(items.length))
      if (this.#next() === ',') this.#at++
      else if (this.#next() !== close) throw this.#trouble(`a comma or ${close}`)
    }
    this.#at++
    return items
  }

  #member(path: JsonPath): [name: string, value: unknown] {
    const text = this.#match(STRING)
    const name = text === undefined ? this.#match(WORD) : contentOf(text)
    if (name === undefined) throw this.#trouble('a name or }')
    if (this.#next() !== ':') throw this.#trouble('a colon')
    this.#at++
    return [name, this.#value([...path, name])]
  }

  /** Skips spaces and comments. Returns the next character; undefined at the end. */
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
    const column = this.#at - this.#text.lastIndexOf('\n', this.#at - 1)
    return new Error(`line ${lineAt(this.#text, this.#at)}, column ${column}: expected ${expected}`)
  }
}

function scalarOf(word: string | undefined): Scalar | undefined {
  if (word === undefined) return undefined
  return NUMBER.test(word) ? Number(word) : LITERALS.get(word)
}

function contentOf(quoted: string): string {
  return quoted.slice(1, -1).replace(ESCAPE, (_, unicode?: string, hex?: string, other?: string) => {
    if (other === undefined) return String.fromCharCode(Number.parseInt((unicode ?? hex) as string, 16))
    return /[\r\n\u2028\u2029]/.test(other) ? '' : (ESCAPED[other] ?? other)
  })
}
