import { isRecord, parseJson } from '../../reading/attribute-value.ts'

export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'call' | 'other'; readonly name: string; readonly value: unknown }
  | { readonly type: 'result'; readonly value: unknown }

export type ConversationMessage = Readonly<{ role: string; parts: readonly ContentPart[] }>

export function messagesIn(text: string): readonly ConversationMessage[] | undefined {
  const list = parseJson(text)
  if (!Array.isArray(list) || list.length === 0 || !list.every(isRecord)) return undefined
  return list.every(({ role }) => typeof role === 'string') ? list.map(messageOf) : undefined
}

/** Parses a JSON object or list. Undefined for anything else: numbers and quoted strings read better as they are. */
export function jsonIn(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  const value = parseJson(text)
  return typeof value === 'object' && value !== null ? value : undefined
}

type Fields = Readonly<Record<string, unknown>>

function messageOf({ role, parts, content, tool_calls: calls }: Fields): ConversationMessage {
  return {
    role: String(role),
    parts: [
      ...listOf(Array.isArray(parts) ? parts : content).map(part => partOf(part, role === 'tool')),
      ...(Array.isArray(calls) ? calls.map(callOf) : []),
    ],
  }
}

function listOf(content: unknown): unknown[] {
  if (Array.isArray(content)) return content
  return content === undefined || content === null ? [] : [content]
}

function partOf(part: unknown, isResult: boolean): ContentPart {
  const textPart = (text: string): ContentPart => (isResult ? { type: 'result', value: text } : { type: 'text', text })
  if (typeof part === 'string') return textPart(part)
  if (!isRecord(part)) return { type: 'other', name: '', value: part }
  const text = part['content'] ?? part['text']
  switch (part['type']) {
    case 'tool_call':
    case 'tool_use':
      return callOf(part)
    case 'tool_call_response':
    case 'tool_result':
      return { type: 'result', value: part['response'] ?? part['result'] ?? text }
    default:
      return typeof text === 'string'
        ? textPart(text)
        : { type: 'other', name: String(part['type'] ?? ''), value: part }
  }
}

function callOf(call: unknown): ContentPart {
  const described = isRecord(call) && isRecord(call['function']) ? call['function'] : call
  if (!isRecord(described)) return { type: 'other', name: '', value: described }
  const { name, arguments: given, input } = described
  return { type: 'call', name: typeof name === 'string' ? name : '', value: given ?? input }
}
