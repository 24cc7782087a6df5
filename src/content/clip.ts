import type { TextRedactor } from './safe-text.ts'
import { maskRecords, RECORD_REACH } from './secret-records.ts'

/** Cuts text without leaving half a character or half a secret. */

const ELLIPSIS = '...'

/** Characters read beyond the part that is kept: a secret before the cut may be recognizable only by the text after it. */
export const WINDOW_MARGIN = 400

export interface Clipped {
  readonly text: string
  readonly isCut: boolean
}

/** The redactor used if nothing is masked. Recognized by identity. */
export function keepAll(text: string): string {
  return text
}

/** Replaces lone surrogates, which backends reject, by U+FFFD. Node 20 has the method, but only the es2024 types do. */
export function wellFormed(text: string): string {
  return (text as unknown as { toWellFormed(): string }).toWellFormed()
}

function head(text: string, length: number): string {
  if (text.length <= length) return text
  const last = length > 0 ? text.charCodeAt(length - 1) : 0
  const isHighSurrogate = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, isHighSurrogate ? length - 1 : length)
}

const encoder = new TextEncoder()
/** Maximum bytes of UTF-8 per UTF-16 code unit. */
const MAX_BYTES = 3

function charsWithin(text: string, bytes: number): number {
  if (text.length * MAX_BYTES <= bytes || Buffer.byteLength(text) <= bytes) return text.length
  return encoder.encodeInto(text, new Uint8Array(bytes)).read
}

/** The longest result of `make` within this many bytes of UTF-8: texts are cut by characters, and backends count bytes. */
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

export function clip({ text, isCut }: Clipped, cap: number): Clipped {
  if (!isCut && text.length <= cap) return { text, isCut: false }
  if (cap <= ELLIPSIS.length) return { text: ELLIPSIS.slice(0, Math.max(cap, 0)), isCut: true }
  return { text: head(text, cap - ELLIPSIS.length) + ELLIPSIS, isCut: true }
}

/** Copies a string. V8's slices point to their parent: a preview waiting for export would keep the 50 MB it was cut from. */
export function copyOf(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}

export function windowOf(text: string, length: number): Clipped {
  if (text.length <= length) return { text, isCut: false }
  const window = head(text, length)
  return { text: text.length < 4 * length ? window : copyOf(window), isCut: true }
}

/** The first characters of a text, with secrets masked that are identified only by the text after the window. */
export function maskedWindowOf(text: string, length: number): Clipped {
  const { text: window, isCut } = windowOf(text, length)
  if (!isCut) return { text: window, isCut }
  const ahead = text.slice(0, length + RECORD_REACH)
  const masked = maskRecords(ahead)
  return masked === ahead ? { text: window, isCut } : { text: head(masked, length), isCut }
}

/**
 * Redacts a text of which at most `room` characters will be kept. If it is cut, the last word of the window is dropped: it may
 * be the start of a secret too short to be recognized.
 *
 * @param isMasked the records of the text are masked already
 */
export function redactWithin(source: Clipped, room: number, redact: TextRedactor, isMasked = false): Clipped {
  const length = Math.max(room, 0) + WINDOW_MARGIN
  const window = isMasked || redact === keepAll ? windowOf(source.text, length) : maskedWindowOf(source.text, length)
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
