import { HIDDEN } from './hidden-characters.ts'
import type { TextSegment } from './segments.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for an element or a quoted attribute. Invisible characters become `\u{202e}`. */
export function escapeHtml(text: string): string {
  return text.replace(HIDDEN, codePoint).replace(/[&<>"']/g, character => ENTITIES[character] ?? '')
}

/** Line ends and tabs stay, as layout. */
function codePoint(character: string): string {
  if (character === '\n' || character === '\t') return character
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}

export function segmentsHtml(segments: readonly TextSegment[]): string {
  return segments.map(({ tone, text }) => `<span class="${tone}">${escapeHtml(text)}</span>`).join('')
}
