import type { Segment } from './segments.ts'

/** Valid in HTML and invisible, or able to write backwards; also what HTML forbids. Line ends and tabs are shown as what they are. */
const UNSEEN = /[\p{Cf}\p{Cs}\p{Noncharacter_Code_Point}\u2028\u2029]|[^\P{Cc}\n\t]/gu

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Any text as text of a page, in an element or a quoted attribute: markup is text, and what could not be seen is named. */
export function htmlText(text: string): string {
  return text.replace(UNSEEN, codePoint).replace(/[&<>"']/g, character => ENTITIES[character] ?? '')
}

/** `\u{202e}` */
function codePoint(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}

/** Pieces of a line, each with its tone as its class. */
export function spansHtml(segments: readonly Segment[]): string {
  return segments.map(({ tone, text }) => `<span class="${tone}">${htmlText(text)}</span>`).join('')
}
