import { isRecord, parseJson } from '../../reading/attribute-value.ts'

export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'call'; readonly name: string; readonly value: unknown }
  | { readonly type: 'result'; readonly value: unknown }
  | { readonly type: 'other'; readonly name: string; readonly value: unknown }

export interface ConversationMessage {
  readonly role: string
  readonly parts: readonly ContentPart[]
}

export function messagesIn(text: string): readonly ConversationMessage[] | undefined {
  const value = parseJson(text)
  const list = Array.isArray(value) ? (value as unknown[]) : undefined
  if (list === undefined || list.length === 0 || !list.every(isMessage)) return undefined
  return list.map(messageOf)
}

/** Parses a JSON object or list. Undefined for anything else: numbers and quoted strings read better as they are. */
export function jsonIn(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  const value = parseJson(text)
  return typeof value === 'object' && value !== null ? value : undefined
}

type Fields = Readonly<Record<string, unknown>>

function isMessage(value: unknown): value is Fields {
  return isRecord(value) && typeof value['role'] === 'string'
}

function messageOf(message: Fields): ConversationMessage {
  const parts = Array.isArray(message['parts']) ? (message['parts'] as unknown[]) : contentParts(message['content'])
  const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as unknown[]) : []
  const isResult = message['role'] === 'tool'
  return {
    role: String(message['role']),
    parts: [...parts.map(part => partOf(part, isResult)), ...calls.map(callOf)],
  }
}

function contentParts(content: unknown): unknown[] {
  if (content === undefined || content === null) return []
  return Array.isArray(content) ? content : [content]
}

function partOf(part: unknown, isResult: boolean): ContentPart {
  if (typeof part === 'string') return isResult ? { type: 'result', value: part } : { type: 'text', text: part }
  if (!isRecord(part)) return { type: 'other', name: '', value: part }
  const text = part['content'] ?? part['text']
  switch (part['type']) {
    case 'tool_call':
    case 'tool_use':
      return { type: 'call', name: nameOf(part), value: part['arguments'] ?? part['input'] }
    case 'tool_call_response':
    case 'tool_result':
      return { type: 'result', value: part['response'] ?? part['result'] ?? text }
    default:
      if (typeof text !== 'string') return { type: 'other', name: String(part['type'] ?? ''), value: part }
      return isResult ? { type: 'result', value: text } : { type: 'text', text }
  }
}

function callOf(call: unknown): ContentPart {
  const described = isRecord(call) && isRecord(call['function']) ? call['function'] : call
  if (!isRecord(described)) return { type: 'other', name: '', value: described }
  return { type: 'call', name: nameOf(described), value: described['arguments'] ?? described['input'] }
}

function nameOf({ name }: Fields): string {
  return typeof name === 'string' ? name : ''
}
