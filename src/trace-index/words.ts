import { displayText } from '../viewer/display-text.ts'
import type { StoredSpan } from '../viewer/stored-span.ts'

/** More of one span is not searched: a tool may have printed a book. */
const MOST_CHARS = 65_536
/** Shorter words are searched as they are: too much begins with one or two letters. */
const LEAST_PREFIX = 3
/** Each is a look-up. */
const MOST_WORDS = 16
/** Of a text in a span that are looked at. */
const MOST_PLACES = 100
const EXCERPT_BEFORE = 60
const EXCERPT_CHARS = 200

/** What can be found of a span: its name and all texts that are told of it. */
export function searchableText(span: StoredSpan): string {
  const parts: string[] = []
  let left = MOST_CHARS
  const add = (value: unknown): void => {
    if (left <= 0) return
    if (typeof value === 'string') {
      parts.push(value.slice(0, left))
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
  return parts.join('\n')
}

/** What somebody searches for. */
export interface SearchedText {
  /** For FTS5; undefined when it cannot find all of it: parts of words, and writing that sets no blanks between them. */
  readonly match: string | undefined
  /** What stands between blanks, folded: all of these are in what is found by reading. */
  readonly pieces: readonly string[]
}

/** Writing without blanks: what is one word to the index are many. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
/** What the index takes for a part of a word. */
const WORD = /[\p{L}\p{N}\p{Co}]+/gu
const IN_WORD = /[\p{L}\p{N}]/u
const ACCENTS = /[\u0300-\u036f]/g

/** Undefined when there is nothing to search for. */
export function searchedText(text: string): SearchedText | undefined {
  const pieces = fold(text)
    .split(/\s+/)
    .filter(piece => piece !== '')
  if (pieces.length === 0) return undefined
  const words = text.normalize('NFD').replace(ACCENTS, '').normalize('NFC').match(WORD) ?? []
  const isFound = words.length > 0 && words.length <= MOST_WORDS && !UNSPACED.test(text)
  return { match: isFound ? words.map(quoted).join(' AND ') : undefined, pieces: pieces.slice(0, MOST_WORDS) }
}

/** A word has neither quotes nor anything else in it that means something to FTS5. */
function quoted(word: string): string {
  return `"${word}"${word.length < LEAST_PREFIX ? '' : '*'}`
}

/** As texts are compared when they are read: without regard to case. */
export function fold(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

export function holdsAll(folded: string, pieces: readonly string[]): boolean {
  return pieces.every(piece => folded.includes(piece))
}

/** Where the text stands in a span: printable, with what stands around it. */
export function excerptOf(span: StoredSpan, { pieces }: SearchedText): string {
  const text = searchableText(span)
  const at = firstPlace(fold(text), pieces) ?? 0
  const from = Math.max(0, at - EXCERPT_BEFORE)
  const shown = displayText(text.slice(from, from + EXCERPT_CHARS))
  return `${from > 0 ? '…' : ''}${shown}${from + EXCERPT_CHARS < text.length ? '…' : ''}`
}

/** Of what was typed, best as a word of its own; else of the words in it. */
function firstPlace(folded: string, pieces: readonly string[]): number | undefined {
  const words = pieces.flatMap(piece => piece.match(WORD) ?? [])
  for (const sought of [...pieces, ...words]) {
    const places = placesIn(folded, sought)
    const found = places.find(at => at === 0 || !IN_WORD.test(folded[at - 1] ?? '')) ?? places[0]
    if (found !== undefined) return found
  }
  return undefined
}

function placesIn(text: string, sought: string): number[] {
  const places: number[] = []
  for (let at = text.indexOf(sought); at >= 0 && places.length < MOST_PLACES; at = text.indexOf(sought, at + 1)) {
    places.push(at)
  }
  return places
}
