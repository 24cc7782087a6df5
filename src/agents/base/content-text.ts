import { isArray, peek } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import type { ToolArguments } from '../../guards/index.ts'

/**
 * Returns all the text of a content: a string, or parts such as `{ type: 'text', text }`. A guard that checked only one part
 * could be bypassed.
 */
export function wholeText(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .flatMap(part => (isText(part) ? [part.text] : []))
    .join('\n')
}

/** The list, with elements of an unchecked type; an empty one if the value is no list. */
export function listOf<Element = unknown>(value: unknown): readonly Element[] {
  return isArray(value) ? (value as readonly Element[]) : []
}

export function isAllText(content: unknown): boolean {
  return typeof content === 'string' || (isArray(content) && content.every(isText))
}

/**
 * Returns the same parts with another text, in place of the first text part or, if there is none, in front. Other parts stay
 * unchanged.
 */
export function withText(content: unknown, text: string): unknown[] {
  const parts = listOf(content)
  const first = parts.findIndex(isText)
  const rest = parts.filter((part, at) => at === first || !isText(part))
  const said = (part: unknown): unknown => (isText(part) ? { ...part, text } : part)
  return first === -1 ? [{ type: 'text', text }, ...rest] : rest.map(said)
}

function isText(part: unknown): part is { readonly type: 'text'; readonly text: string } {
  return peek(part, 'type') === 'text' && typeof peek(part, 'text') === 'string'
}

/** Replaces the arguments in place, in the object that the tool runs with. */
export function replaceFields(holder: Record<string, unknown>, args: ToolArguments): void {
  for (const key of Object.keys(holder)) if (!Object.hasOwn(args, key)) delete holder[key]
  Object.assign(holder, plainCopy(args))
}
