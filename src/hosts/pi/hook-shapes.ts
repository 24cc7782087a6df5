import { isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { plainCopy } from '../../hooks/frozen-copy.ts'
import {
  type AfterModel,
  type Injection,
  type ModelMessage,
  type Outcome,
  type ToolArguments,
  type ToolCall,
  toolCallOf,
} from '../../hooks/index.ts'
import { isAllText, wholeText, withText } from '../base/content-text.ts'
import { modelUsage } from '../base/usage.ts'
import { failureOf, piUsage } from './messages.ts'
import type { PiContext } from './types.ts'

/** All others are said by the user as far as a model can see. */
const ROLES: ReadonlyMap<unknown, ModelMessage['role']> = new Map([
  ['assistant', 'assistant'],
  ['toolResult', 'tool'],
  ['system', 'system'],
])

export function said(text: string): unknown[] {
  return [{ type: 'text', text }]
}

export function textsFor(role: Injection['role'], injected: readonly Injection[]): string {
  return injected.flatMap(each => (each.role === role ? [each.text] : [])).join('\n\n')
}

/** A message of Pi's conversation. The output of a person's own command, and a summary, are in other places of it. */
export function messageSeen(message: unknown): ModelMessage {
  const text =
    wholeText(peek(message, 'content')) || (textOf(peek(message, 'summary')) ?? textOf(peek(message, 'output')))
  return { role: ROLES.get(peek(message, 'role')) ?? 'user', text: text ?? '' }
}

/** Pi's messages as the hooks have left them: those of which the text is the same are the same. */
export function messagesSaid(
  messages: readonly unknown[],
  seen: readonly ModelMessage[],
  { value, injected }: Outcome<'beforeModel'>,
): unknown[] {
  const kept = messages.map((message, at) => {
    const text = value[at]?.text
    return text === undefined || text === seen[at]?.text ? message : withMessageText(message, text)
  })
  const timestamp = Date.now()
  const more = injected.map(({ text, role }) => ({ role, content: said(text), timestamp }))
  return [...kept, ...more]
}

function withMessageText(message: unknown, text: string): unknown {
  const whole = message as Readonly<Record<string, unknown>>
  for (const key of ['summary', 'output']) if (typeof whole[key] === 'string') return { ...whole, [key]: text }
  return { ...whole, content: typeof whole['content'] === 'string' ? text : withText(whole['content'], text) }
}

/** What the model has answered. Undefined: this is no answer, or the person has stopped it. */
export function answerSeen(message: unknown, model: string | undefined): AfterModel | undefined {
  const reason = peek(message, 'stopReason')
  if (peek(message, 'role') !== 'assistant' || reason === 'aborted') return undefined
  const content = peek(message, 'content')
  const failure = peek(message, 'errorMessage')
  const error = { status: failureOf(failure).statusCode, message: textOf(failure) }
  const usage = peek(message, 'usage')
  return {
    model: textOf(peek(message, 'model')) ?? model,
    text: wholeText(content),
    toolCalls: (isArray(content) ? content : []).filter(isToolCall).map(callSeen),
    ...(reason === 'error' ? { error } : {}),
    usage: modelUsage(piUsage(usage), numberOf(peek(peek(usage, 'cost'), 'total'))),
    attempt: 0,
  }
}

function isToolCall(part: unknown): boolean {
  return peek(part, 'type') === 'toolCall'
}

function callSeen(part: unknown): ToolCall {
  const args = peek(part, 'arguments') as ToolArguments
  return toolCallOf({ name: String(peek(part, 'name')), arguments: args, id: textOf(peek(part, 'id')) })
}

/** An answer that says this instead, and calls no tool. */
export function silenced(message: unknown, reason: string): unknown {
  return { ...(message as object), content: said(reason), stopReason: 'stop' }
}

/** @param data of `tool_call` or `tool_result` */
export function toolSeen(data: unknown, { cwd }: PiContext): ToolCall {
  return toolCallOf({
    name: String(peek(data, 'toolName')),
    arguments: peek(data, 'input') as ToolArguments,
    id: textOf(peek(data, 'toolCallId')),
    cwd: textOf(cwd),
  })
}

/** Makes the arguments these, in the object that the tool runs with. */
export function become(input: Record<string, unknown>, args: ToolArguments): void {
  for (const key of Object.keys(input)) if (!Object.hasOwn(args, key)) delete input[key]
  Object.assign(input, plainCopy(args))
}

/** The result of a tool: as text, where it is nothing else. */
export function resultSeen(content: unknown): unknown {
  return isAllText(content) ? wholeText(content) : content
}

export function resultSaid(content: unknown, value: unknown): unknown[] {
  if (isArray(value)) return plainCopy([...value])
  return withText(content, typeof value === 'string' ? value : JSON.stringify(value))
}

/** What the agent would leave it at. */
export function lastAnswer(messages: unknown): string {
  const answers = (isArray(messages) ? messages : []).filter(message => peek(message, 'role') === 'assistant')
  return wholeText(peek(answers.at(-1), 'content'))
}
