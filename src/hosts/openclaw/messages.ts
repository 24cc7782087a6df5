import { elementsOf, idOf, isArray, peek, textOf } from '../../contract/foreign.ts'

/** A message as spans read it. Values are the host's own, by reference. */
export interface Message {
  readonly role: unknown
  readonly content: unknown
  readonly tool_calls?: readonly ToolCall[]
  readonly tool_call_id?: string
}

export interface ToolCall {
  readonly id: string | undefined
  readonly name: unknown
  readonly arguments: unknown
}

/** Spans draw no more of a conversation than its last messages. */
export const MESSAGES_LIMIT = 100
const PARTS_LIMIT = 100

/** Text of a message or of a tool's result: one text part as it is, several joined; undefined where there is none. */
export function plainText(content: unknown): string | undefined {
  if (!isArray(content)) return textOf(content)
  const texts = elementsOf(content, PARTS_LIMIT).flatMap(part => textOf(peek(part, 'text')) ?? [])
  return texts.length > 1 ? texts.join('\n') : texts[0]
}

function toolCallsOf(message: unknown): ToolCall[] {
  const parts = elementsOf(peek(message, 'content'), PARTS_LIMIT)
  return parts
    .filter(part => peek(part, 'type') === 'toolCall')
    .map(part => ({ id: idOf(peek(part, 'id')), name: peek(part, 'name'), arguments: peek(part, 'arguments') }))
}

/** The host's own spelling of a message (`toolCall` parts, role `toolResult`) → the one that spans read. */
export function messageOf(message: unknown): Message {
  const content = peek(message, 'content')
  const calls = toolCallsOf(message)
  const toolCallId = idOf(peek(message, 'toolCallId'))
  const role = peek(message, 'role')
  return {
    role: role === 'toolResult' ? 'tool' : role,
    content: plainText(content) ?? (calls.length > 0 || isEmpty(content) ? undefined : content),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
  }
}

function isEmpty(content: unknown): boolean {
  return isArray(content) && elementsOf(content, 1).length === 0
}
