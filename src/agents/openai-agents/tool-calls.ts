import { elementsOf, isArray, isObject, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import type { ToolArguments } from '../../guards/index.ts'
import { namedArguments, textFor } from '../base/guard-values.ts'
import { jsonIn } from '../event-json.ts'
import type { ConversationItem } from './model-content.ts'

export interface AgentToolCall {
  readonly id: string | undefined
  readonly name: string
  readonly args: ToolArguments
  readonly format?: LocalToolFormat | undefined
}

export function toolCallIn(item: ConversationItem): AgentToolCall | undefined {
  const id = textOf(item['callId'])
  const { type } = item
  const form = LOCAL_TOOL_FORMATS.find(each => type === `${each.name}_call`)
  if (form !== undefined)
    return { id, name: form.name, args: form.argumentsOf(item[form.operationField]), format: form }
  const name = textOf(item['name'])
  return type === 'function_call' && name !== undefined ? { id, name, args: argumentsOf(item['arguments']) } : undefined
}

export function itemWith(item: ConversationItem, { format }: AgentToolCall, args: ToolArguments): ConversationItem {
  if (format === undefined) return { ...item, arguments: JSON.stringify(args) }
  return { ...item, [format.operationField]: format.operationWith(args) }
}

/** Parses the model's JSON. Other text becomes one field: `x` -> `{ input: 'x' }`. */
export function argumentsOf(input: unknown): ToolArguments {
  return namedArguments(typeof input === 'string' ? jsonIn(input, input) : input)
}

/** True if the agent's shell is the provider's container, whose calls have the same item type. */
export function isShellElsewhere(tools: readonly ConversationItem[]): boolean {
  const shell = tools.find(({ type }) => type === 'shell')
  return (textOf(peek(peek(shell, 'environment'), 'type')) ?? 'local') !== 'local'
}

/**
 * The calls and results of a tool that is no function, yet runs in this process. `name` is the type of the tool, by which hooks
 * detect a command or a patch; the call's item has the type `{name}_call`. The `methods` of the application's object in
 * `holderField` do the work.
 */
export interface LocalToolFormat {
  readonly name: string
  readonly operationField: string
  readonly holderField: string
  readonly methods: readonly string[]
  methodOf(asked: unknown): string
  argumentsOf(asked: unknown): ToolArguments
  operationWith(args: ToolArguments): object | undefined
  blockedResult(reason: string): object
  isFailure(result: unknown): boolean
  resultOf(result: unknown): unknown
  resultWith(result: unknown, value: unknown): object
}

/** Characters that may hide the next line: quotes, here-documents, brackets, a continued line. */
const OPENS = /["'`\\<({]/

const SHELL: LocalToolFormat = {
  name: 'shell',
  operationField: 'action',
  holderField: 'shell',
  methods: ['run'],
  methodOf: () => 'run',
  argumentsOf: asked => {
    const { commands, ...rest } = fieldsOf(asked)
    return { ...rest, command: commandText(commands) }
  },
  // One script, exactly as checked: it cannot be split into commands again.
  operationWith: ({ command, ...rest }) => (typeof command === 'string' ? { ...rest, commands: [command] } : undefined),
  blockedResult: reason => ({ output: [outputOf('', reason, 1)] }),
  isFailure: () => false,
  resultOf: result => peek(result, 'output') ?? [],
  resultWith: (result, value) => {
    if (isArray(value)) return { ...fieldsOf(result), output: plainCopy(value) }
    const last = elementsOf(peek(result, 'output'), 1, 'last')[0]
    const exitCode = numberOf(peek(peek(last, 'outcome'), 'exitCode')) ?? (result === undefined ? 1 : 0)
    return { ...fieldsOf(result), output: [outputOf(textFor(value), '', exitCode)] }
  },
}

const EDITS: Readonly<Record<string, string>> = {
  create_file: 'createFile',
  update_file: 'updateFile',
  delete_file: 'deleteFile',
}

const PATCH: LocalToolFormat = {
  name: 'apply_patch',
  operationField: 'operation',
  holderField: 'editor',
  methods: Object.values(EDITS),
  methodOf: asked => EDITS[String(peek(asked, 'type'))] ?? '',
  argumentsOf: asked => {
    const operation = fieldsOf(asked)
    const { path, moveTo } = operation
    return moveTo === undefined ? operation : { ...operation, paths: [path, moveTo] }
  },
  // The target path appears twice. If a hook changed only one, the checked call would differ from the one that runs.
  operationWith: args => {
    const { type, path, diff, moveTo, paths } = args
    const isWhole = EDITS[String(type)] !== undefined && typeof path === 'string'
    const hasText = type === 'delete_file' || typeof diff === 'string'
    return isWhole && hasText && moveTo === undefined && paths === undefined ? { ...args } : undefined
  },
  blockedResult: reason => ({ status: 'failed', output: reason }),
  isFailure: result => peek(result, 'status') === 'failed',
  resultOf: result => textOf(peek(result, 'output')) ?? '',
  resultWith: (result, value) => ({ ...(result === undefined ? FAILED : fieldsOf(result)), output: textFor(value) }),
}

const FAILED = { status: 'failed' }
export const LOCAL_TOOL_FORMATS: readonly LocalToolFormat[] = [SHELL, PATCH]

/** Each command has its own shell: an unclosed quote in one must not hide the next from hooks. */
function commandText(commands: unknown): string {
  const texts = elementsOf(commands, Number.POSITIVE_INFINITY).map(each => (typeof each === 'string' ? each : ''))
  if (texts.length < 2) return texts[0] ?? ''
  return texts.map(text => (OPENS.test(text) ? `sh -c '${text.replaceAll("'", "'\\''")}'` : text)).join('\n')
}

function outputOf(stdout: string, stderr: string, exitCode: number): object {
  return { stdout, stderr, outcome: { type: 'exit', exitCode } }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? { ...value } : {}
}
