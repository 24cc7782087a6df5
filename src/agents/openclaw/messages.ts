import { elementsOf, idOf, isArray, peek } from '../../contract/foreign.ts'
import { plainText, type ToolCallPart, toolCallsOf } from '../base/messages.ts'

/** A message in the format of spans. Values are the host's own, by reference. */
export interface Message {
  readonly role: unknown
  readonly content: unknown
  readonly tool_calls?: readonly ToolCallPart[]
  readonly tool_call_id?: string
}

/** Spans contain at most the last messages of a conversation. */
export const MESSAGES_LIMIT = 100

/** Converts the host's message format (`toolCall` parts, role `toolResult`) to that of spans. */
export function messageOf(message: unknown): Message {
  const content = peek(message, 'content')
  const calls = toolCallsOf(content)
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
