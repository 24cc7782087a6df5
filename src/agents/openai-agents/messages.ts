import { elementsOf, isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'

/** Searched from the end: the last user message is near it. */
const SEARCH_LIMIT = 50
const MESSAGES_LIMIT = 100

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

/** Parts that are all text are joined; other parts are returned unchanged. */
export function textOrParts(content: unknown): unknown {
  if (!isArray(content)) return content
  const texts = elementsOf(content, MESSAGES_LIMIT).map(
    part => textOf(peek(part, 'text')) ?? textOf(peek(part, 'refusal')),
  )
  return texts.length > 0 && texts.every(text => text !== undefined) ? texts.join('\n') : content
}

export function historyOf(input: unknown): readonly unknown[] | undefined {
  return isArray(input) ? input : undefined
}

/**
 * A request as messages. The SDK's tool calls and results are separate items; they are converted only when attributes
 * are built.
 */
export class ItemConversation {
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
