import { elementsOf, idOf, isArray, peek, textOf } from '../../contract/foreign.ts'

const PARTS_LIMIT = 100
const HEAD = 64

/** A tool call in the answer of a model. */
export interface ToolCallPart {
  readonly id: string | undefined
  readonly name: unknown
  readonly arguments: unknown
}

/** The text of a message or of a tool's result: of several parts, joined. Undefined where there is none. */
export function plainText(content: unknown): string | undefined {
  if (!isArray(content)) return textOf(content)
  return joined(elementsOf(content, PARTS_LIMIT).map(part => textOf(peek(part, 'text'))))
}

export function joined(texts: readonly (string | undefined)[], between = '\n'): string | undefined {
  const told = texts.filter(text => text !== undefined)
  return told.length > 1 ? told.join(between) : told[0]
}

/** Parts of the type `toolCall`, as agents have them that are made with Pi's model clients. */
export function toolCallsOf(content: unknown): ToolCallPart[] {
  return elementsOf(content, PARTS_LIMIT)
    .filter(part => peek(part, 'type') === 'toolCall')
    .map(part => ({ id: idOf(peek(part, 'id')), name: peek(part, 'name'), arguments: peek(part, 'arguments') }))
}

/**
 * Whether the text of a tool's result looks like JSON. Then it is told inside of something: the core would look for a
 * status in it, and a file that a tool has read is no word about the tool.
 */
export function looksLikeJson(text: string): boolean {
  const head = text.slice(0, HEAD).trimStart()
  return head === '' ? text.length > HEAD : head[0] === '{'
}
