import { HIDDEN } from './hidden-characters.ts'
import type { Segment } from './segments.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Any text as text of a page, in an element or a quoted attribute: markup is text, and what could not be seen is named. */
export function htmlText(text: string): string {
  return text.replace(HIDDEN, codePoint).replace(/[&<>"']/g, character => ENTITIES[character] ?? '')
}

/** `\u{202e}`. Line ends and tabs are layout. */
function codePoint(character: string): string {
  if (character === '\n' || character === '\t') return character
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}

/** Pieces of a line, each with its tone as its class. */
export function spansHtml(segments: readonly Segment[]): string {
  return segments.map(({ tone, text }) => `<span class="${tone}">${htmlText(text)}</span>`).join('')
}
