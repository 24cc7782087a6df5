import { HIDDEN } from './hidden-characters.ts'

/** Longer texts are cut first: the result is one line, and the patterns below must not scan megabytes. */
const MAX_CHARS = 2_000

/** Removes whole ANSI sequences, payload included (a title, a hyperlink), so that no residue is read as text. */
const ANSI =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this takes out
  /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]/g

/** More combining marks than a script needs would overlap the neighbouring lines. */
const STACKED_MARKS = /(\p{M}{4})\p{M}+/gu

/**
 * Makes text of a trace safe to show on one line. Removes everything that moves a cursor, sets a colour, changes the writing
 * direction or hides. Joiners and selectors that shape letters and emoji stay. All trace text shown in a terminal or a picture
 * passes through here.
 */
export function displayText(text: string): string {
  return text
    .slice(0, MAX_CHARS)
    .replace(ANSI, '')
    .replace(/\s+/g, ' ')
    .replace(HIDDEN, '')
    .replace(STACKED_MARKS, '$1')
    .trim()
}

/**
 * Makes text safe to show on several lines, as `displayText` does for one. Leading blanks stay, because code and lists need them.
 */
export function displayLines(text: string): string[] {
  const lines = text.replace(ANSI, '').split(/\r\n|[\n\r\u0085\u2028\u2029]/)
  return lines.map(line =>
    line.replaceAll('\t', '    ').replace(/\s/g, ' ').replace(HIDDEN, '').replace(STACKED_MARKS, '$1').trimEnd(),
  )
}

/**
 * Makes all text visible for a page: unprintable characters become a sign (`␛`) or a code point (`⟨U+202E⟩`), so that a command
 * hides nothing from its reader. The length is not limited.
 */
export function visibleText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(HIDDEN, signOf).replace(STACKED_MARKS, '$1')
}

function signOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (character === '\n' || character === '\t') return character
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return '␡'
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
}
