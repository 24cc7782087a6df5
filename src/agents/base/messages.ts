import { elementsOf, idOf, isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'

const PARTS_LIMIT = 100
const HEAD = 64

export interface ToolCallPart {
  readonly id: string | undefined
  readonly name: unknown
  readonly arguments: unknown
}

/** A request as messages in the format of the contract. They are converted only when attributes are built. */
export class LazyConversation {
  readonly tools: unknown
  readonly #convert: () => readonly unknown[]

  constructor(convert: () => readonly unknown[], tools?: unknown) {
    this.#convert = convert
    this.tools = tools
  }

  get messages(): readonly unknown[] {
    return this.#convert()
  }
}

export function countOf(list: unknown): number | undefined {
  return isArray(list) ? numberOf(peek(list, 'length')) : undefined
}

export function plainText(content: unknown): string | undefined {
  if (!isArray(content)) return textOf(content)
  return joinTexts(elementsOf(content, PARTS_LIMIT).map(part => textOf(peek(part, 'text'))))
}

export function joinTexts(texts: readonly (string | undefined)[], between = '\n'): string | undefined {
  const told = texts.filter(text => text !== undefined)
  return told.length > 1 ? told.join(between) : told[0]
}

/** Parts of type `toolCall`, the format of agents built with Pi's model clients. */
export function toolCallsOf(content: unknown): ToolCallPart[] {
  return elementsOf(content, PARTS_LIMIT)
    .filter(part => peek(part, 'type') === 'toolCall')
    .map(part => ({ id: idOf(peek(part, 'id')), name: peek(part, 'name'), arguments: peek(part, 'arguments') }))
}

/**
 * Returns true if the text of a tool's result looks like JSON. Such text must be emitted inside an object. Otherwise the core
 * would look for a status in it, although it may be a file that the tool has read.
 */
export function looksLikeJson(text: string): boolean {
  const head = text.slice(0, HEAD).trimStart()
  return head === '' ? text.length > HEAD : head[0] === '{'
}

export function wrapJson(result: unknown, wrapped: object = { output: result }): unknown {
  const text = textOf(result)
  return text !== undefined && looksLikeJson(text) ? wrapped : result
}
