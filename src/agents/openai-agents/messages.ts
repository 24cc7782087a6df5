import { elementsOf, isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'

/** From the end: what the user said last is never far away. */
const SEARCH_LIMIT = 50
const MESSAGES_LIMIT = 100

/** What the user asked: the last user message of an input, by reference. */
export function promptOf(input: unknown): unknown {
  if (typeof input === 'string') return input
  if (!isArray(input)) return undefined
  const length = numberOf(peek(input, 'length')) ?? 0
  for (let index = length - 1; index >= Math.max(0, length - SEARCH_LIMIT); index--) {
    const item = peek(input, String(index))
    if (peek(item, 'role') === 'user') return textOrParts(peek(item, 'content'))
  }
  return undefined
}

/** Parts that are all text as the text; an image among them leaves the parts as they are. */
export function textOrParts(content: unknown): unknown {
  if (!isArray(content)) return content
  const texts = elementsOf(content, MESSAGES_LIMIT).map(
    part => textOf(peek(part, 'text')) ?? textOf(peek(part, 'refusal')),
  )
  return texts.length > 0 && texts.every(text => text !== undefined) ? texts.join('\n') : content
}

/** The whole conversation, where there is one to show. */
export function historyOf(input: unknown): readonly unknown[] | undefined {
  return isArray(input) ? input : undefined
}

/**
 * A request as its messages. The SDK keeps calls and results as items of their own, which no reader of messages knows;
 * they are made messages only when somebody draws them.
 */
export class Conversation {
  readonly #input: unknown

  constructor(input: unknown) {
    this.#input = input
  }

  get messages(): readonly unknown[] {
    if (typeof this.#input === 'string') return [{ role: 'user', content: this.#input }]
    return elementsOf(this.#input, MESSAGES_LIMIT, 'last').map(asMessage)
  }
}

function asMessage(item: unknown): unknown {
  const type = textOf(peek(item, 'type'))
  if (type === 'function_call') {
    const call = { id: callIdOf(item), name: peek(item, 'name'), arguments: peek(item, 'arguments') }
    return { role: 'assistant', tool_calls: [call] }
  }
  if (type === 'function_call_result' || type === 'function_call_output') {
    const output = peek(item, 'output')
    return { role: 'tool', tool_call_id: callIdOf(item), content: textOf(peek(output, 'text')) ?? output }
  }
  return item
}

function callIdOf(item: unknown): unknown {
  return peek(item, 'callId') ?? peek(item, 'call_id')
}
