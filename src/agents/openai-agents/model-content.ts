import { isArray, peek, textOf } from '../../contract/foreign.ts'
import type { Injection, ModelMessage } from '../../guards/index.ts'
import { injectedTexts, replaceFirst } from '../base/guard-values.ts'

export type ConversationItem = Readonly<Record<string, unknown>>

/** A request to a model of the SDK. */
export interface SdkRequest {
  readonly systemInstructions?: unknown
  readonly input: unknown
  readonly tools?: unknown
  readonly handoffs?: unknown
  readonly signal?: AbortSignal | undefined
}

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant'])
const SHELL_RESULT = 'shell_call_output'
const PATCH_RESULT = 'apply_patch_call_output'
const TEXTS: ReadonlySet<unknown> = new Set(['input_text', 'output_text', 'text'])

function itemsOf(input: unknown): readonly ConversationItem[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  return isArray(input) ? (input as readonly ConversationItem[]) : []
}

function isMessage(item: ConversationItem): boolean {
  return ROLES.has(item['role'])
}

function textOfItem(item: ConversationItem): string | undefined {
  if (isMessage(item)) return textOfContent(item['content'])
  const { type, output } = item
  if (type === 'function_call_result') return textOfContent(output)
  if (type === SHELL_RESULT) return textOfShell(output)
  return type === PATCH_RESULT ? textOf(output) : undefined
}

function textOfShell(outputs: unknown): string | undefined {
  if (!isArray(outputs) || outputs.length === 0) return undefined
  const texts = outputs.flatMap(each => [textOf(peek(each, 'stdout')), textOf(peek(each, 'stderr'))])
  return texts.filter(text => text !== undefined && text !== '').join('\n')
}

function textOfContent(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = isArray(content) ? content : [content]
  return parts.flatMap(part => (isTextPart(part) ? String(peek(part, 'text')) : [])).join('\n')
}

export function messagesOf({ systemInstructions, input }: SdkRequest): ModelMessage[] {
  const system = typeof systemInstructions === 'string' ? [{ role: 'system' as const, text: systemInstructions }] : []
  const said = itemsOf(input).flatMap(item => {
    const text = textOfItem(item)
    const role = (isMessage(item) ? item['role'] : 'tool') as ModelMessage['role']
    return text === undefined ? [] : [{ role, text }]
  })
  return [...system, ...said]
}

export function withTexts(
  request: SdkRequest,
  texts: readonly ModelMessage[],
  injections: readonly Injection[],
): SdkRequest {
  const { systemInstructions } = request
  const left = [...texts]
  const own = typeof systemInstructions === 'string' ? [left.shift()?.text ?? systemInstructions] : []
  const items = itemsOf(request.input).map(item => {
    const old = textOfItem(item)
    const text = old === undefined ? undefined : left.shift()?.text
    return text === undefined || text === old ? item : withText(item, text)
  })
  const system = [...own, ...injectedTexts('system', injections)]
  const input = [...items, ...injectedTexts('user', injections).map(userMessage)]
  return { ...request, ...(system.length === 0 ? {} : { systemInstructions: system.join('\n\n') }), input }
}

function withText(item: ConversationItem, text: string): ConversationItem {
  const { type, output } = item
  if (isMessage(item)) return { ...item, content: contentWith(item['content'], text) }
  if (type !== SHELL_RESULT || !isArray(output))
    return { ...item, output: typeof output === 'string' ? text : { type: 'text', text } }
  // The text cannot be split by command: one output remains, with the exit of the last command.
  return { ...item, output: [{ ...(output.at(-1) as object), stdout: text, stderr: '' }] }
}

function contentWith(content: unknown, text: string): unknown {
  if (!isArray(content)) return text
  return replaceFirst(content, isTextPart, part => [{ ...(part as object), text }]) ?? content
}

function isTextPart(part: unknown): boolean {
  return TEXTS.has(peek(part, 'type'))
}

function userMessage(text: string): ConversationItem {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
}

export function withFeedback(request: SdkRequest, answer: string, feedback: string | undefined): SdkRequest {
  if (feedback === undefined) return request
  const said = answer === '' ? [] : [assistantItem(answer)]
  return { ...request, input: [...itemsOf(request.input), ...said, userMessage(feedback)] }
}

function assistantItem(text: string): ConversationItem {
  return { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }
}

export function lastUserText(input: unknown): string {
  const asked = itemsOf(input).findLast(({ role }) => role === 'user')
  return asked === undefined ? '' : textOfContent(asked['content'])
}

export function textOfOutput(output: readonly ConversationItem[]): string {
  return output.flatMap(item => (isMessage(item) ? textOfContent(item['content']) : [])).join('\n')
}

export function outputWith(output: readonly ConversationItem[], text: string, alone: boolean): ConversationItem[] {
  if (alone) return [assistantItem(text)]
  return replaceFirst(output, isMessage, item => [withText(item, text)]) ?? [assistantItem(text), ...output]
}
