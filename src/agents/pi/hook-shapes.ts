import { isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import {
  type AfterModel,
  type Injection,
  type ModelMessage,
  type Outcome,
  type ToolArguments,
  type ToolCall,
  toolCallOf,
} from '../../guards/index.ts'
import { isAllText, wholeText, withText } from '../base/content-text.ts'
import { modelUsage } from '../base/usage.ts'
import { failureOf, piUsage } from './messages.ts'
import type { PiContext } from './types.ts'

/** Roles of the contract. All other messages have the role `user` for the model. */
const ROLES: ReadonlyMap<unknown, ModelMessage['role']> = new Map([
  ['assistant', 'assistant'],
  ['toolResult', 'tool'],
  ['system', 'system'],
])

export function textParts(text: string): unknown[] {
  return [{ type: 'text', text }]
}

export function textsFor(role: Injection['role'], injected: readonly Injection[]): string {
  return injected.flatMap(each => (each.role === role ? [each.text] : [])).join('\n\n')
}

/** Converts a message of Pi. The output of a user's own command, and a summary, are in fields other than `content`. */
export function modelMessageOf(message: unknown): ModelMessage {
  const text =
    wholeText(peek(message, 'content')) || (textOf(peek(message, 'summary')) ?? textOf(peek(message, 'output')))
  return { role: ROLES.get(peek(message, 'role')) ?? 'user', text: text ?? '' }
}

export function withOutcome(
  messages: readonly unknown[],
  seen: readonly ModelMessage[],
  { value, injected }: Outcome<'beforeModel'>,
): unknown[] {
  const kept = messages.map((message, at) => {
    const text = value[at]?.text
    return text === undefined || text === seen[at]?.text ? message : withMessageText(message, text)
  })
  const timestamp = Date.now()
  const more = injected.map(({ text, role }) => ({ role, content: textParts(text), timestamp }))
  return [...kept, ...more]
}

function withMessageText(message: unknown, text: string): unknown {
  const whole = message as Readonly<Record<string, unknown>>
  for (const key of ['summary', 'output']) if (typeof whole[key] === 'string') return { ...whole, [key]: text }
  return { ...whole, content: typeof whole['content'] === 'string' ? text : withText(whole['content'], text) }
}

/** Converts the model's answer. Returns undefined if the message is no answer, or if the user has stopped it. */
export function answerEvent(message: unknown, model: string | undefined): AfterModel | undefined {
  const reason = peek(message, 'stopReason')
  if (peek(message, 'role') !== 'assistant' || reason === 'aborted') return undefined
  const content = peek(message, 'content')
  const failure = peek(message, 'errorMessage')
  const error = { status: failureOf(failure).statusCode, message: textOf(failure) }
  const usage = peek(message, 'usage')
  return {
    model: textOf(peek(message, 'model')) ?? model,
    text: wholeText(content),
    toolCalls: (isArray(content) ? content : []).filter(isToolCall).map(requestedCall),
    ...(reason === 'error' ? { error } : {}),
    usage: modelUsage(piUsage(usage), numberOf(peek(peek(usage, 'cost'), 'total'))),
    attempt: 0,
  }
}

function isToolCall(part: unknown): boolean {
  return peek(part, 'type') === 'toolCall'
}

function requestedCall(part: unknown): ToolCall {
  const args = peek(part, 'arguments') as ToolArguments
  return toolCallOf({ name: String(peek(part, 'name')), arguments: args, id: textOf(peek(part, 'id')) })
}

export function answerWithReason(message: unknown, reason: string): unknown {
  return { ...(message as object), content: textParts(reason), stopReason: 'stop' }
}

export function toolCallFrom(data: unknown, { cwd }: PiContext): ToolCall {
  return toolCallOf({
    name: String(peek(data, 'toolName')),
    arguments: peek(data, 'input') as ToolArguments,
    id: textOf(peek(data, 'toolCallId')),
    cwd: textOf(cwd),
  })
}

export function replaceFields(input: Record<string, unknown>, args: ToolArguments): void {
  for (const key of Object.keys(input)) if (!Object.hasOwn(args, key)) delete input[key]
  Object.assign(input, plainCopy(args))
}

export function toolResultOf(content: unknown): unknown {
  return isAllText(content) ? wholeText(content) : content
}

export function toolResultWith(content: unknown, value: unknown): unknown[] {
  if (isArray(value)) return plainCopy([...value])
  return withText(content, typeof value === 'string' ? value : JSON.stringify(value))
}

export function lastAnswer(messages: unknown): string {
  const answers = (isArray(messages) ? messages : []).filter(message => peek(message, 'role') === 'assistant')
  return wholeText(peek(answers.at(-1), 'content'))
}
