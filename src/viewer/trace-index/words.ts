import { displayText } from '../../reading/display-text.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'

/** Text beyond this is not searchable: a tool may print a whole book. */
const MAX_CHARS = 65_536
/** Shorter words are searched without a prefix match: too many words begin with one or two letters. */
const MIN_PREFIX = 3
/** Each word is a look-up. */
const MAX_WORDS = 16
const MAX_PLACES = 100
const EXCERPT_BEFORE = 60
const EXCERPT_CHARS = 200

export function searchableText(span: StoredSpan): string {
  const parts: string[] = []
  let left = MAX_CHARS
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

export interface SearchedText {
  /** FTS5 query; undefined if FTS5 cannot find all of it, such as parts of words or scripts without blanks. */
  readonly match: string | undefined
  /** The case-folded text between blanks. Reading finds only spans that contain all of these. */
  readonly pieces: readonly string[]
}

/** Scripts without blanks: the index takes several words for one. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
/** Matches the index's definition of a word. */
const WORD = /[\p{L}\p{N}\p{Co}]+/gu
const IN_WORD = /[\p{L}\p{N}]/u
const ACCENTS = /[\u0300-\u036f]/g

/** Undefined if there is nothing to search for. */
export function searchedText(text: string): SearchedText | undefined {
  const pieces = fold(text)
    .split(/\s+/)
    .filter(piece => piece !== '')
  if (pieces.length === 0) return undefined
  const words = text.normalize('NFD').replace(ACCENTS, '').normalize('NFC').match(WORD) ?? []
  const isFound = words.length > 0 && words.length <= MAX_WORDS && !UNSPACED.test(text)
  return { match: isFound ? words.map(quoted).join(' AND ') : undefined, pieces: pieces.slice(0, MAX_WORDS) }
}

/** A word contains only letters and digits, so nothing has a meaning in FTS5 syntax. */
function quoted(word: string): string {
  return `"${word}"${word.length < MIN_PREFIX ? '' : '*'}`
}

export function fold(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

export function holdsAll(folded: string, pieces: readonly string[]): boolean {
  return pieces.every(piece => folded.includes(piece))
}

export function excerptOf(span: StoredSpan, { pieces }: SearchedText): string {
  const text = searchableText(span)
  const at = firstPlace(fold(text), pieces) ?? 0
  const from = Math.max(0, at - EXCERPT_BEFORE)
  const shown = displayText(text.slice(from, from + EXCERPT_CHARS))
  return `${from > 0 ? '…' : ''}${shown}${from + EXCERPT_CHARS < text.length ? '…' : ''}`
}

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
  for (let at = text.indexOf(sought); at >= 0 && places.length < MAX_PLACES; at = text.indexOf(sought, at + 1)) {
    places.push(at)
  }
  return places
}
