import { isArray, peek, textOf } from '../../contract/foreign.ts'
import type { ToolArguments } from '../../guards/index.ts'
import { LOCAL_TOOL_FORMATS, type LocalToolFormat } from './local-forms.ts'
import type { ConversationItem } from './response-texts.ts'

export interface AgentToolCall {
  readonly id: string | undefined
  readonly name: string
  readonly args: ToolArguments
  /** Undefined for a function tool. */
  readonly format?: LocalToolFormat | undefined
}

/** Reads the call of an item. Returns undefined for other items, and for tools not known to run here. */
export function toolCallIn(item: ConversationItem): AgentToolCall | undefined {
  const id = textOf(item['callId'])
  const { type } = item
  const form = LOCAL_TOOL_FORMATS.find(each => each.item === type)
  if (form !== undefined)
    return { id, name: form.name, args: form.argumentsOf(item[form.operationField]), format: form }
  const name = textOf(item['name'])
  return type === 'function_call' && name !== undefined ? { id, name, args: argumentsOf(item['arguments']) } : undefined
}

export function itemWith(
  item: ConversationItem,
  form: LocalToolFormat | undefined,
  args: ToolArguments,
): ConversationItem {
  return form === undefined
    ? { ...item, arguments: JSON.stringify(args) }
    : { ...item, [form.operationField]: form.operationWith(args) }
}

/** Parses the model's JSON. Other text becomes one field: `x` -> `{ input: 'x' }`. */
export function argumentsOf(input: unknown): ToolArguments {
  try {
    const args: unknown = typeof input === 'string' ? JSON.parse(input) : input
    return isPlain(args) ? args : { input: args }
  } catch {
    return { input }
  }
}

export function isPlain(value: unknown): value is ToolArguments {
  return typeof value === 'object' && value !== null && !isArray(value)
}

/** True if the agent's shell is the provider's container, whose calls have the same item type. */
export function isShellElsewhere(tools: readonly ConversationItem[]): boolean {
  const shell = tools.find(({ type }) => type === 'shell')
  return (textOf(peek(peek(shell, 'environment'), 'type')) ?? 'local') !== 'local'
}
