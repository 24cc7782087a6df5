import { isArray, peek } from '../../contract/foreign.ts'

/** All the text of a content, which is a text or parts of `{ type: 'text', text }` and others: whoever judges a part of it judges nothing. */
export function wholeText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!isArray(content)) return ''
  return content.flatMap(part => (isText(part) ? [part.text] : [])).join('\n')
}

/** Whether there is nothing but text in it. */
export function isAllText(content: unknown): boolean {
  return typeof content === 'string' || (isArray(content) && content.every(isText))
}

/** The same parts with another text: where the first text was, else before all others. What is no text stays as it is. */
export function withText(content: unknown, text: string): unknown[] {
  const parts = isArray(content) ? content : []
  const first = parts.findIndex(isText)
  const rest = parts.filter((part, at) => at === first || !isText(part))
  const said = (part: unknown): unknown => (isText(part) ? { ...part, text } : part)
  return first === -1 ? [{ type: 'text', text }, ...rest] : rest.map(said)
}

function isText(part: unknown): part is { readonly type: 'text'; readonly text: string } {
  return peek(part, 'type') === 'text' && typeof peek(part, 'text') === 'string'
}
