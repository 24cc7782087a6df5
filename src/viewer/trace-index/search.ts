import { isAscii } from 'node:buffer'
import { displayText } from '../../reading/display-text.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'
import type { TextMatch } from './answers.ts'
import type { IndexedFile } from './indexer.ts'
import { LogFile, readLineText, spansOfEntry } from './log-file.ts'
import { blockFilter, searchableTexts, type TextBlock, withoutAccents } from './text-blocks.ts'
import type { TraceEntry, TraceTable } from './trace-table.ts'

/** Shorter words match whole words only: too many words begin with one or two letters. */
const MIN_PREFIX = 3
const MAX_WORDS = 16
const EXCERPT_BEFORE = 60
const EXCERPT_CHARS = 200

/** Larger blocks, which have a long line at their end, get memory of their own. */
const SCRATCH_BYTES = 524_288
const SLICE_MILLIS = 20
const MAX_MATCHES = 500
/** Parsing a line costs a hundred times as much as searching it. */
const MAX_PARSED_BYTES = 33_554_432

/** Scripts without blanks: what stands between two blanks is several words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const WORD = /[\p{L}\p{N}\p{Co}]+/gu

/** Patterns for raw lines of JSON, of which the bytes are read as Latin-1. They may match more than the text that is sought. */
type RawPatterns = Readonly<{ scan: RegExp; line: readonly RegExp[] }>

interface TextMatcher {
  /** For lines without accents, which is cheaper, and for all others. */
  readonly plain: RawPatterns
  readonly accented: RawPatterns
  readonly mayBeIn: (block: TextBlock) => boolean
  matches(text: string): boolean
}

/** A text to search for. A span matches if it has all words; if no span does, spans match that have all pieces between blanks. */
export interface SearchText {
  readonly words: TextMatcher | undefined
  readonly pieces: TextMatcher
  /** The first of these that a text has is shown in its excerpt. */
  readonly shown: readonly string[]
}

export function parseSearchText(text: string): SearchText | undefined {
  const all = fold(text)
    .split(/\s+/)
    .filter(piece => piece !== '')
  const pieces = all.slice(0, MAX_WORDS)
  const words = withoutAccents(text).toLowerCase().match(WORD) ?? []
  const hasWords = words.length > 0 && words.length <= MAX_WORDS && !UNSPACED.test(text)
  if (pieces.length === 0) return undefined
  return {
    words: hasWords ? wordMatcher(words) : undefined,
    pieces: pieceMatcher(pieces),
    shown: [...pieces, ...pieces.flatMap(piece => piece.match(WORD) ?? [])],
  }
}

function excerptOf(span: StoredSpan, { shown }: SearchText): string {
  const text = searchableTexts(span).join('\n')
  const folded = fold(text)
  const wordStart = (sought: string): number =>
    new RegExp(`(?<![\\p{L}\\p{N}])${escapePattern(sought)}`, 'u').exec(folded)?.index ?? folded.indexOf(sought)
  const at = shown.map(wordStart).find(place => place >= 0) ?? 0
  const from = Math.max(0, at - EXCERPT_BEFORE)
  const excerpt = displayText(text.slice(from, from + EXCERPT_CHARS))
  return `${from > 0 ? '…' : ''}${excerpt}${from + EXCERPT_CHARS < text.length ? '…' : ''}`
}

function fold(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

function wordMatcher(words: readonly string[]): TextMatcher {
  const isShort = (word: string): boolean => word.length < MIN_PREFIX
  const exact = words.map(word => new RegExp(`(?<!${LETTER})${word}${isShort(word) ? `(?!${LETTER})` : ''}`, 'u'))
  const rawPatterns = (formOf: (letter: string) => string): RawPatterns => {
    const patternOf = (word: string): string => Array.from(word, formOf).join('')
    return {
      scan: new RegExp(patternOf(longestOf(words)) + NO_FIELD_NAME, 'gi'),
      line: words.map(word => new RegExp(BEFORE_WORD + patternOf(word) + (isShort(word) ? '(?![a-z0-9])' : ''), 'i')),
    }
  }
  return {
    plain: rawPatterns(letter => (letter <= '\x7f' ? letter : lettersLike(letter))),
    accented: rawPatterns(lettersLike),
    mayBeIn: blockFilter(words, true),
    matches: text => {
      const folded = withoutAccents(text).toLowerCase()
      return exact.every(pattern => pattern.test(folded))
    },
  }
}

function pieceMatcher(pieces: readonly string[]): TextMatcher {
  const patternOf = (piece: string): string =>
    Array.from(piece, char => rawForms(char <= '\x7f' ? [char] : [char, char.toUpperCase()])).join('')
  const patterns = {
    scan: new RegExp(patternOf(longestOf(pieces)) + NO_FIELD_NAME, 'gi'),
    line: pieces.map(piece => new RegExp(patternOf(piece), 'i')),
  }
  return {
    plain: patterns,
    accented: patterns,
    mayBeIn: blockFilter(pieces, false),
    matches: text => {
      const folded = fold(text)
      return pieces.every(piece => folded.includes(piece))
    },
  }
}

function longestOf(texts: readonly string[]): string {
  return texts.reduce((longest, text) => (text.length > longest.length ? text : longest), '')
}

const LETTER = '[\\p{L}\\p{N}\\p{Co}]'
/** A byte that is no letter, part of a character beyond ASCII, or an escape sequence of JSON. */
const BEFORE_WORD = '(?:[^a-z0-9]|\\\\(?:[bfnrt]|u[0-9a-f]{4}))'
/** The match is not in the name of an attribute or of an OTLP field, which every line has. */
const NO_FIELD_NAME = '(?![\\w.]*"\\s*(?::|,\\s*"value"))'
/** The bytes of U+0300 to U+036F, or their escape sequences. */
const COMBINING_MARKS = '(?:\xcc[\x80-\xbf]|\xcd[\x80-\xaf]|\\\\u03[0-6][0-9a-f])*'
/** The first bytes of characters with accents, and of combining marks; or the start of their escape sequences. */
const HAS_ACCENTS = /[\xc3-\xd3\xe1]|\\u(?:00[c-fC-F]|0[1-4]|1)/

/** The letters that differ from this lower-case one by accents or case alone: `u` -> `ù ú û ü …` */
const lettersByBase = new Map<string, string[]>()

function lettersLike(base: string): string {
  if (lettersByBase.size === 0) {
    for (let code = 0xc0; code < 0x2000; code++) {
      const letter = String.fromCodePoint(code)
      const found = withoutAccents(letter).toLowerCase()
      if (found !== letter) lettersByBase.set(found, [...(lettersByBase.get(found) ?? []), letter])
    }
  }
  return rawForms([base, ...(lettersByBase.get(base) ?? [])]) + COMBINING_MARKS
}

/** A pattern for characters as they are in a line of JSON: their UTF-8 bytes, or an escape sequence. */
function rawForms(characters: readonly string[]): string {
  const forms = new Set<string>()
  for (const character of characters) {
    forms.add(escapePattern(Buffer.from(JSON.stringify(character).slice(1, -1)).toString('latin1')))
    if (character === '/') forms.add('\\\\/')
    if (character > '\x7f') forms.add(character.split('').map(escapeSequence).join(''))
  }
  return forms.size === 1 ? [...forms].join('') : `(?:${[...forms].join('|')})`
}

function escapeSequence(unit: string): string {
  return `\\\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

export type FoundTexts = Readonly<{ matches: ReadonlyMap<TraceEntry, TextMatch>; searchedSince: number | undefined }>

type Chunk = Readonly<{ block: TextBlock; text: string; hasAccents: boolean }>

type TraceCondition = (entry: TraceEntry) => boolean

export type SearchedLog = Readonly<{ table: TraceTable; files: readonly IndexedFile[]; pause: () => Promise<void> }>

export async function findTexts(log: SearchedLog, text: SearchText, accepts: TraceCondition): Promise<FoundTexts> {
  const byPieces = createPass(log.table, text, text.pieces, accepts)
  const byWords = text.words && createPass(log.table, text, text.words, accepts)
  const passes = byWords === undefined ? [byPieces] : [byWords, byPieces]
  for await (const chunk of chunksOf(log, block => passes.some(pass => pass.wants(block)))) {
    for (const pass of passes) if (pass.wants(chunk.block)) pass.search(chunk)
    const hasWords = byWords !== undefined && byWords.matches.size > 0
    if (passes.every(pass => pass.isDone()) || (hasWords && byWords.isDone())) break
    if (hasWords) passes.splice(1)
  }
  const { matches, searchedSince } = byWords !== undefined && byWords.matches.size > 0 ? byWords : byPieces
  return { matches, searchedSince: searchedSince() }
}

/** The indexed lines as Latin-1, newest first. The rest has no facts yet, so no condition can be checked. */
async function* chunksOf(
  { files, pause }: SearchedLog,
  wants: (block: TextBlock) => boolean,
): AsyncGenerator<Chunk, void> {
  const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
  let pausedAt = performance.now()
  for (const { path, low, high, texts } of files.toReversed()) {
    for (const block of texts.between(low, high)) {
      if (!wants(block)) continue
      const bytes = LogFile.use(path, file => file.read(block.from, block.to, scratch))
      if (bytes === undefined) break
      const text = bytes.toString('latin1')
      const isPlain = isAscii(bytes) && !bytes.includes('\\u')
      yield { block, text, hasAccents: !isPlain && HAS_ACCENTS.test(text) }
      if (performance.now() - pausedAt < SLICE_MILLIS) continue
      await pause()
      pausedAt = performance.now()
    }
  }
}

const TRACE_ID = /"traceId"\s*:\s*"([^"]*)"/g

function createPass(table: TraceTable, sought: SearchText, matcher: TextMatcher, accepts: TraceCondition) {
  const matches = new Map<TraceEntry, TextMatch>()
  let parsedBytes = 0
  let reachedAt: number | undefined
  const isDone = (): boolean => matches.size >= MAX_MATCHES || parsedBytes > MAX_PARSED_BYTES
  const wantedEntry = (traceId: string): TraceEntry | undefined => {
    const entry = table.traces.get(traceId)
    return entry !== undefined && !matches.has(entry) && accepts(entry) ? entry : undefined
  }
  /** Ids with escape sequences or beyond ASCII are looked at only after parsing. */
  const mayHaveWanted = (line: string): boolean => {
    for (const [, id = ''] of line.matchAll(TRACE_ID)) if (!/^[\w-]+$/.test(id) || wantedEntry(id)) return true
    return false
  }
  const searchLine = (line: string): void => {
    parsedBytes += line.length
    const spans = spansOfEntry(readLineText(line))
    reachedAt = spans[0]?.startAt ?? reachedAt
    for (const span of spans.toReversed()) {
      const { traceId, spanId } = span
      const entry = wantedEntry(traceId)
      if (entry === undefined || !matcher.matches(searchableTexts(span).join('\n'))) continue
      matches.set(entry, { traceId, spanId, excerpt: excerptOf(span, sought) })
    }
  }
  const search = ({ text, hasAccents }: Chunk): void => {
    const { scan, line: patterns } = hasAccents ? matcher.accented : matcher.plain
    for (const line of linesWith(text, scan).reverse()) {
      if (isDone()) return
      if (!patterns.every(pattern => pattern.test(line)) || !mayHaveWanted(line)) continue
      searchLine(Buffer.from(line, 'latin1').toString('utf8'))
    }
  }
  const wants = (block: TextBlock): boolean => !isDone() && matcher.mayBeIn(block)
  return { matches, isDone, wants, search, searchedSince: () => (isDone() ? reachedAt : undefined) }
}

function linesWith(chunk: string, pattern: RegExp): string[] {
  const lines: string[] = []
  pattern.lastIndex = 0
  for (let match = pattern.exec(chunk); match !== null; match = pattern.exec(chunk)) {
    const found = chunk.indexOf('\n', match.index)
    const end = found < 0 ? chunk.length : found
    lines.push(chunk.slice(chunk.lastIndexOf('\n', match.index) + 1, end))
    pattern.lastIndex = end
  }
  return lines
}
