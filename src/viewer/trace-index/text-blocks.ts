import type { StoredSpan } from '../../reading/stored-span.ts'
import type { LinePlace } from './log-file.ts'

/** Text beyond this is not searchable: a tool may print a whole book. */
const MAX_CHARS = 65_536
const BLOCK_BYTES = 262_144
/** 15 bits number a bit: a block of text has some six thousand different trigrams, which fill a fifth. */
const FILTER_BYTES = 4_096
const HASH_SHIFT = 32 - 15

const ACCENTS = /[\u0300-\u036f]/g
const BEYOND_ASCII = /[^\0-\x7f]/

/** ASCII letter or digit -> 1 to 36, without regard to case; 0 for all others. */
const CODES = Uint8Array.from({ length: 128 }, (_, unit) => {
  const value = Number.parseInt(String.fromCharCode(unit), 36)
  return Number.isNaN(value) ? 0 : value + 1
})

const WORD_START = 37

export interface TextBlock {
  from: number
  to: number
  readonly trigrams: Uint8Array
}

export type StoredBlock = readonly [from: number, to: number, trigrams: string]

/**
 * The trigrams of a file's searchable texts, so that a search reads only blocks that may have its text. A block has the lines that
 * start within a quarter of a megabyte, however they were indexed.
 */
export class TextBlocks {
  readonly #blocks = new Map<number, TextBlock>()

  constructor(stored: readonly StoredBlock[] = []) {
    for (const [from, to, trigrams] of stored) {
      this.#blocks.set(Math.floor(from / BLOCK_BYTES), { from, to, trigrams: Buffer.from(trigrams, 'base64') })
    }
  }

  addSpan({ offset, length }: LinePlace, span: StoredSpan): void {
    const number = Math.floor(offset / BLOCK_BYTES)
    const block = this.#blocks.get(number) ?? { from: offset, to: offset, trigrams: new Uint8Array(FILTER_BYTES) }
    this.#blocks.set(number, block)
    block.from = Math.min(block.from, offset)
    block.to = Math.max(block.to, offset + length)
    for (const text of searchableTexts(span)) addTrigrams(text, block.trigrams)
  }

  /** The blocks between two line starts, the last one first. */
  between(low: number, high: number): TextBlock[] {
    return this.#inOrder()
      .reverse()
      .map(({ from, to, trigrams }) => ({ from: Math.max(from, low), to: Math.min(to, high), trigrams }))
      .filter(({ from, to }) => from < to)
  }

  toJSON(): StoredBlock[] {
    return this.#inOrder().map(({ from, to, trigrams }) => [from, to, Buffer.from(trigrams).toString('base64')])
  }

  #inOrder(): TextBlock[] {
    return [...this.#blocks.values()].sort((a, b) => a.from - b.from)
  }
}

/** Accepts the blocks that may have all of these texts, each at the start of a word or anywhere. */
export function blockFilter(texts: readonly string[], startWords: boolean): (block: TextBlock) => boolean {
  const wanted = new Uint8Array(FILTER_BYTES)
  for (const text of texts) addTrigrams(text, wanted, startWords)
  const bytes = [...wanted.entries()].filter(([, byte]) => byte > 0)
  return ({ trigrams }) => bytes.every(([index, byte]) => ((trigrams[index] ?? 0) & byte) === byte)
}

/** Adds the trigrams of ASCII letters and digits, which no normalization joins or splits. A word's start counts as one letter. */
function addTrigrams(text: string, bits: Uint8Array, startsWord = true): void {
  const folded = BEYOND_ASCII.test(text) ? withoutAccents(text) : text
  let [last, length] = startsWord ? [WORD_START, 1] : [0, 0]
  for (let at = 0; at < folded.length; at++) {
    const unit = folded.charCodeAt(at)
    const code = unit < 128 ? (CODES[unit] ?? 0) : 0
    last = code === 0 ? WORD_START : ((last << 6) | code) & 0x3ffff
    length = code === 0 ? 1 : length + 1
    if (length < 3) continue
    const bit = Math.imul(last, 0x9e3779b1) >>> HASH_SHIFT
    bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7))
  }
}

export function withoutAccents(text: string): string {
  return text.normalize('NFD').replace(ACCENTS, '').normalize('NFC')
}

/** Texts of a span that a search may find. None matches across two of them. */
export function searchableTexts(span: StoredSpan): string[] {
  const texts: string[] = []
  let left = MAX_CHARS
  const add = (value: unknown): void => {
    if (left <= 0) return
    if (typeof value === 'string') {
      texts.push(value.slice(0, left))
      left -= value.length + 1
    } else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) add(inner)
  }
  add(span.name)
  add(span.statusMessage)
  add(span.attributes)
  for (const { name, attributes } of span.events) {
    add(name)
    add(attributes)
  }
  return texts
}
