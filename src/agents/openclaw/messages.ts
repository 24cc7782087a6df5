import { elementsOf, idOf, isArray, peek } from '../../contract/foreign.ts'
import { plainText, type ToolCallPart, toolCallsOf } from '../base/messages.ts'

export interface OpenClawMessage {
  readonly role: unknown
  readonly content: unknown
  readonly tool_calls?: readonly ToolCallPart[]
  readonly tool_call_id?: string
}

export const MESSAGES_LIMIT = 100

export function messageOf(message: unknown): OpenClawMessage {
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
