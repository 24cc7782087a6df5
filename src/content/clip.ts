import { maskRecords, RECORD_REACH } from './secret-records.ts'

/** Cutting text to a length without leaving half of anything: half a character, or half a secret. */

const ELLIPSIS = '...'

/**
 * How much of a text is looked at beyond what may be kept of it: a secret that begins before the cut is recognised by
 * what stands behind it.
 */
export const WINDOW_MARGIN = 400

export interface Clipped {
  readonly text: string
  readonly isCut: boolean
}

/** What stands in for a redactor when nothing is masked; recognised by identity. */
export function keepAll(text: string): string {
  return text
}

/** Lone surrogates become U+FFFD: half a character is neither JSON nor UTF-8 to a backend. */
export function wellFormed(text: string): string {
  // In Node since 20, in the es2024 types only.
  return (text as unknown as { toWellFormed(): string }).toWellFormed()
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

/** The first `length` characters, one less where that would split a pair. */
function head(text: string, length: number): string {
  if (text.length <= length) return text
  return text.slice(0, length > 0 && isHighSurrogate(text.charCodeAt(length - 1)) ? length - 1 : length)
}

const encoder = new TextEncoder()
/** Of UTF-8, for one character as strings count them. */
const MOST_BYTES = 3

/** How many characters at the beginning of a text are at most so many bytes of UTF-8. */
function charsWithin(text: string, bytes: number): number {
  if (text.length * MOST_BYTES <= bytes || Buffer.byteLength(text) <= bytes) return text.length
  return encoder.encodeInto(text, new Uint8Array(bytes)).read
}

/**
 * The longest that `make` gives with no more than so many bytes of UTF-8: a cut is made by characters, and backends count
 * bytes.
 */
export function withinBytes<Made extends { readonly text: string } | undefined>(
  bytes: number,
  make: (maxChars: number) => Made,
): Made {
  let made = make(bytes)
  for (;;) {
    const chars = made === undefined ? 0 : charsWithin(made.text, bytes)
    if (made === undefined || chars === made.text.length) return made
    made = make(chars)
  }
}

/** At most `cap` characters in all, the ellipsis of a cut included. */
export function clip({ text, isCut }: Clipped, cap: number): Clipped {
  if (!isCut && text.length <= cap) return { text, isCut: false }
  if (cap <= ELLIPSIS.length) return { text: ELLIPSIS.slice(0, Math.max(cap, 0)), isCut: true }
  return { text: head(text, cap - ELLIPSIS.length) + ELLIPSIS, isCut: true }
}

/**
 * The same text as a string of its own: V8 makes a slice point into its parent, and a preview that waits for export
 * would hold the 50 MB that it was cut from.
 */
export function copyOf(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}

/** The beginning of a text. */
export function windowOf(text: string, length: number): Clipped {
  if (text.length <= length) return { text, isCut: false }
  const window = head(text, length)
  return { text: text.length < 4 * length ? window : copyOf(window), isCut: true }
}

/** The window of a text. What says that a value in it is secret may stand behind it. */
export function maskedWindowOf(text: string, length: number): Clipped {
  const { text: window, isCut } = windowOf(text, length)
  if (!isCut) return { text: window, isCut }
  const ahead = text.slice(0, length + RECORD_REACH)
  const masked = maskRecords(ahead)
  return masked === ahead ? { text: window, isCut } : { text: head(masked, length), isCut }
}

/**
 * Redacts a text of which at most `room` characters will be kept. Of a cut text, the last word of the window goes:
 * it may be the head of a secret that was too short to be recognised.
 */
export function redactWithin(source: Clipped, room: number, redact: (text: string) => string): Clipped {
  const length = Math.max(room, 0) + WINDOW_MARGIN
  const window = redact === keepAll ? windowOf(source.text, length) : maskedWindowOf(source.text, length)
  const redacted = redact(wellFormed(window.text))
  const isCut = source.isCut || window.isCut
  return { text: isCut && redact !== keepAll ? withoutLastWord(redacted) : redacted, isCut }
}

function withoutLastWord(text: string): string {
  let end = text.length
  const limit = Math.max(0, end - WINDOW_MARGIN)
  while (end > limit && text.charCodeAt(end - 1) > 32) end--
  return head(text, end)
}
