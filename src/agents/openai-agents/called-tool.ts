import { isArray, peek, textOf } from '../../contract/foreign.ts'
import type { ToolArguments } from '../../guards/index.ts'
import { LOCAL_FORMS, type LocalForm } from './local-forms.ts'
import type { Item } from './response-texts.ts'

/** A call of a tool. */
export interface CalledTool {
  readonly id: string | undefined
  readonly name: string
  readonly args: ToolArguments
  /** Undefined: the tool is a function. */
  readonly form?: LocalForm | undefined
}

/** The call that an item of an answer is. Undefined: it is none, or none that we know to run here. */
export function calledIn(item: Item): CalledTool | undefined {
  const id = textOf(item['callId'])
  const { type } = item
  const form = LOCAL_FORMS.find(each => each.item === type)
  if (form !== undefined) return { id, name: form.name, args: form.argumentsOf(item[form.asked]), form }
  const name = textOf(item['name'])
  return type === 'function_call' && name !== undefined ? { id, name, args: argumentsOf(item['arguments']) } : undefined
}

/** The same item, as it is to be called. */
export function itemWith(item: Item, form: LocalForm | undefined, args: ToolArguments): Item {
  return form === undefined
    ? { ...item, arguments: JSON.stringify(args) }
    : { ...item, [form.asked]: form.askedWith(args) }
}

/** What the model has said, as JSON: a text that is none is one field for those who look at fields. */
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

/** Whether the shell of an agent is a container of the provider, whose calls come in the same items. */
export function isShellElsewhere(tools: readonly Item[]): boolean {
  const shell = tools.find(({ type }) => type === 'shell')
  return (textOf(peek(peek(shell, 'environment'), 'type')) ?? 'local') !== 'local'
}
