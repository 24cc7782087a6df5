import { HIDDEN } from './hidden-characters.ts'

/** Longest text that is looked at: what is shown is one line, and the patterns below must not walk megabytes. */
const MAX_CHARS = 2_000

/** Whole ANSI sequences go, payload included (a title, a hyperlink), so that no residue of them is read as text. */
const ANSI =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this takes out
  /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]/g

/** More marks than a script needs pile up over the neighbouring lines. */
const PILED_MARKS = /(\p{M}{4})\p{M}+/gu

/**
 * Text out of a trace as it may be shown: one line, without anything that moves a cursor, sets a colour, changes the
 * direction of writing or hides. Joiners and selectors that shape letters and emoji stay. Everything that a terminal or a picture shows of a trace passes through here.
 */
export function displayText(text: string): string {
  return text
    .slice(0, MAX_CHARS)
    .replace(ANSI, '')
    .replace(/\s+/g, ' ')
    .replace(HIDDEN, '')
    .replace(PILED_MARKS, '$1')
    .trim()
}

/**
 * Text that may have several lines as it may be shown, as harmless as `displayText`: blanks at the beginning of a line
 * stay, because they are how code and lists are read.
 */
export function displayLines(text: string): string[] {
  const lines = text.replace(ANSI, '').split(/\r\n|[\n\r\u0085\u2028\u2029]/)
  return lines.map(line =>
    line.replaceAll('\t', '    ').replace(/\s/g, ' ').replace(HIDDEN, '').replace(PILED_MARKS, '$1').trimEnd(),
  )
}

/**
 * Text with nothing left out and nothing hidden, for a page: what does not print is made a sign (`␛`) or its number (`⟨U+202E⟩`), so
 * that whoever reads a command sees what is in it. Its length is not bounded.
 */
export function visibleText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(HIDDEN, signOf).replace(PILED_MARKS, '$1')
}

function signOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (character === '\n' || character === '\t') return character
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return '␡'
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
}
