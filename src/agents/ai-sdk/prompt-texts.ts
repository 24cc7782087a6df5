import { isArray, peek } from '../../contract/foreign.ts'
import type { Injection, ModelMessage } from '../../guards/index.ts'

/** A message of the SDK: `{ role, content }`, with content as text or a list of parts. */
export type PromptMessage = Readonly<Record<string, unknown>>

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool'])

type MessagePart = Readonly<Record<string, unknown>>

/** All parts: a guard must see the whole message. */
function partsOf(content: unknown): readonly unknown[] {
  return isArray(content) ? content : []
}

export function isText(part: unknown): boolean {
  return peek(part, 'type') === 'text'
}

export function messagesOf(prompt: readonly PromptMessage[]): ModelMessage[] {
  return prompt.map(message => ({
    role: (ROLES.has(message['role']) ? message['role'] : 'user') as ModelMessage['role'],
    text: textOfMessage(message),
  }))
}

export function textOfMessage({ role, content }: PromptMessage): string {
  if (typeof content === 'string') return content
  return partsOf(content)
    .flatMap(part => (role === 'tool' ? (resultText(part) ?? []) : isText(part) ? String(peek(part, 'text')) : []))
    .join('\n')
}

/** Parts that are not text stay unchanged. */
export function withText(message: PromptMessage, text: string): PromptMessage {
  const { role, content } = message
  if (!isArray(content)) return { ...message, content: text }
  let isSaid = false
  const parts = (content as readonly MessagePart[]).flatMap(part => {
    const isMeant = role === 'tool' ? resultText(part) !== undefined : isText(part)
    if (!isMeant) return part
    const isFirst = !isSaid
    isSaid = true
    if (role === 'tool') return { ...part, output: { type: 'text', value: isFirst ? text : '' } }
    return isFirst ? { ...part, text } : []
  })
  return { ...message, content: isSaid || role === 'tool' ? parts : [{ type: 'text', text }, ...parts] }
}

function resultText(part: unknown): string | undefined {
  if (peek(part, 'type') !== 'tool-result') return undefined
  const output = peek(part, 'output')
  const value = peek(output, 'value') ?? peek(output, 'reason')
  if (typeof value === 'string') return value
  if (peek(output, 'type') !== 'content') return JSON.stringify(value ?? null)
  return partsOf(value)
    .filter(isText)
    .map(each => String(peek(each, 'text')))
    .join('\n')
}

export function rewritePrompt(prompt: readonly PromptMessage[], texts: readonly ModelMessage[]): PromptMessage[] {
  return prompt.map((message, at) => {
    const text = texts[at]?.text
    return text === undefined || text === textOfMessage(message) ? message : withText(message, text)
  })
}

/**
 * Appends user text as a message. System text joins the one system message, because not every model accepts several.
 */
export function injectTexts(prompt: readonly PromptMessage[], injections: readonly Injection[]): PromptMessage[] {
  const system = injections.filter(({ role }) => role === 'system').map(({ text }) => text)
  const user = injections.filter(({ role }) => role === 'user').map(({ text }) => userMessage(text))
  const said = [...prompt, ...user]
  if (system.length === 0) return said
  const [first, ...others] = said
  return first?.['role'] === 'system'
    ? [{ ...first, content: [first['content'], ...system].join('\n\n') }, ...others]
    : [{ role: 'system', content: system.join('\n\n') }, ...said]
}

function userMessage(text: string): PromptMessage {
  return { role: 'user', content: [{ type: 'text', text }] }
}

/** Appends the model's answer and the hooks' feedback to it. */
export function withFeedback(
  prompt: readonly PromptMessage[],
  answer: string,
  feedback: string | undefined,
): readonly PromptMessage[] {
  if (feedback === undefined) return prompt
  const said = answer === '' ? [] : [{ role: 'assistant', content: [{ type: 'text', text: answer }] }]
  return [...prompt, ...said, userMessage(feedback)]
}
