import { isAscii } from 'node:buffer'
import { displayText } from '../../reading/display-text.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'
import type { TextMatch } from './answers.ts'
import type { IndexedFile } from './indexer.ts'
import { LogFile, readLineText, spansOfEntry } from './log-file.ts'
import { searchableTexts, type TextBlock, WantedTrigrams, withoutAccents } from './text-blocks.ts'
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
  readonly trigrams: WantedTrigrams
  matches(text: string): boolean
}

/** A text to search for. A span matches if it has all words; if no span does, spans match that have all pieces between blanks. */
export class SearchText {
  readonly words: TextMatcher | undefined
  readonly pieces: TextMatcher
  readonly #shown: readonly string[]

  private constructor(text: string, pieces: readonly string[]) {
    const words = withoutAccents(text).toLowerCase().match(WORD) ?? []
    const hasWords = words.length > 0 && words.length <= MAX_WORDS && !UNSPACED.test(text)
    this.words = hasWords ? wordMatcher(words) : undefined
    this.pieces = pieceMatcher(pieces)
    this.#shown = [...pieces, ...pieces.flatMap(piece => piece.match(WORD) ?? [])]
  }

  static parse(text: string): SearchText | undefined {
    const pieces = fold(text)
      .split(/\s+/)
      .filter(piece => piece !== '')
    return pieces.length === 0 ? undefined : new SearchText(text, pieces.slice(0, MAX_WORDS))
  }

  excerptOf(span: StoredSpan): string {
    const text = searchableTexts(span).join('\n')
    const folded = fold(text)
    const at = this.#shown.map(sought => wordStart(folded, sought)).find(place => place >= 0) ?? 0
    const from = Math.max(0, at - EXCERPT_BEFORE)
    const shown = displayText(text.slice(from, from + EXCERPT_CHARS))
    return `${from > 0 ? '…' : ''}${shown}${from + EXCERPT_CHARS < text.length ? '…' : ''}`
  }
}

function fold(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

function wordStart(text: string, sought: string): number {
  const found = new RegExp(`(?<![\\p{L}\\p{N}])${escapePattern(sought)}`, 'u').exec(text)
  return found?.index ?? text.indexOf(sought)
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
    trigrams: new WantedTrigrams(words, true),
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
    trigrams: new WantedTrigrams(pieces, false),
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

export interface FoundTexts {
  readonly matches: ReadonlyMap<TraceEntry, TextMatch>
  readonly searchedSince: number | undefined
}

type Chunk = Readonly<{ block: TextBlock; text: string; hasAccents: boolean }>

type TraceCondition = (entry: TraceEntry) => boolean

export class TextSearch {
  readonly #table: TraceTable
  readonly #files: () => readonly IndexedFile[]
  readonly #pause: () => Promise<void>

  constructor(table: TraceTable, files: () => readonly IndexedFile[], pause: () => Promise<void>) {
    this.#table = table
    this.#files = files
    this.#pause = pause
  }

  async find(text: SearchText, accepts: TraceCondition): Promise<FoundTexts> {
    const byPieces = new SearchPass(this.#table, text, text.pieces, accepts)
    const byWords = text.words && new SearchPass(this.#table, text, text.words, accepts)
    const passes = byWords === undefined ? [byPieces] : [byWords, byPieces]
    for await (const chunk of this.#chunks(block => passes.some(pass => pass.wants(block)))) {
      for (const pass of passes) if (pass.wants(chunk.block)) pass.search(chunk)
      const hasWords = byWords !== undefined && byWords.matches.size > 0
      if (passes.every(({ isDone }) => isDone) || (hasWords && byWords.isDone)) break
      if (hasWords) passes.splice(1)
    }
    return byWords !== undefined && byWords.matches.size > 0 ? byWords : byPieces
  }

  /** The indexed lines as Latin-1, newest first. The rest has no facts yet, so no condition can be checked. */
  async *#chunks(wants: (block: TextBlock) => boolean): AsyncGenerator<Chunk, void> {
    const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
    let pausedAt = performance.now()
    for (const { path, low, high, texts } of this.#files().toReversed()) {
      for (const block of texts.between(low, high)) {
        if (!wants(block)) continue
        const bytes = LogFile.use(path, file => file.read(block.from, block.to, scratch))
        if (bytes === undefined) break
        const text = bytes.toString('latin1')
        const isPlain = isAscii(bytes) && !bytes.includes('\\u')
        yield { block, text, hasAccents: !isPlain && HAS_ACCENTS.test(text) }
        if (performance.now() - pausedAt < SLICE_MILLIS) continue
        await this.#pause()
        pausedAt = performance.now()
      }
    }
  }
}

const TRACE_ID = /"traceId"\s*:\s*"([^"]*)"/g

class SearchPass implements FoundTexts {
  readonly matches = new Map<TraceEntry, TextMatch>()
  readonly #table: TraceTable
  readonly #text: SearchText
  readonly #matcher: TextMatcher
  readonly #accepts: TraceCondition
  #parsedBytes = 0
  #reachedAt: number | undefined

  constructor(table: TraceTable, text: SearchText, matcher: TextMatcher, accepts: TraceCondition) {
    this.#table = table
    this.#text = text
    this.#matcher = matcher
    this.#accepts = accepts
  }

  get isDone(): boolean {
    return this.matches.size >= MAX_MATCHES || this.#parsedBytes > MAX_PARSED_BYTES
  }

  get searchedSince(): number | undefined {
    return this.isDone ? this.#reachedAt : undefined
  }

  wants(block: TextBlock): boolean {
    return !this.isDone && this.#matcher.trigrams.mayBeIn(block)
  }

  search({ text, hasAccents }: Chunk): void {
    const { scan, line: patterns } = hasAccents ? this.#matcher.accented : this.#matcher.plain
    for (const line of linesWith(text, scan).reverse()) {
      if (this.isDone) return
      if (!patterns.every(pattern => pattern.test(line)) || !this.#mayHaveWanted(line)) continue
      this.#searchLine(Buffer.from(line, 'latin1').toString('utf8'))
    }
  }

  /** Ids with escape sequences or beyond ASCII are looked at only after parsing. */
  #mayHaveWanted(line: string): boolean {
    for (const [, id = ''] of line.matchAll(TRACE_ID)) if (!/^[\w-]+$/.test(id) || this.#isWanted(id)) return true
    return false
  }

  #isWanted(traceId: string): boolean {
    const entry = this.#table.trace(traceId)
    return entry !== undefined && !this.matches.has(entry) && this.#accepts(entry)
  }

  #searchLine(line: string): void {
    this.#parsedBytes += line.length
    const spans = spansOfEntry(readLineText(line))
    this.#reachedAt = spans[0]?.startAt ?? this.#reachedAt
    for (const span of spans.toReversed()) {
      const { traceId, spanId } = span
      const entry = this.#table.trace(traceId)
      if (entry === undefined || !this.#isWanted(traceId)) continue
      if (!this.#matcher.matches(searchableTexts(span).join('\n'))) continue
      this.matches.set(entry, { traceId, spanId, excerpt: this.#text.excerptOf(span) })
    }
  }
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
