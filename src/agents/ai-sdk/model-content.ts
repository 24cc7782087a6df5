import { isArray, peek, textOf } from '../../contract/foreign.ts'
import type { Injection, ModelMessage, ModelUsage } from '../../guards/index.ts'
import { injectedTexts, listOf, replaceFirst } from '../base/guard-values.ts'
import { modelUsage, usageOf } from '../base/usage.ts'
import { jsonIn } from '../event-json.ts'

export type PromptMessage = Readonly<Record<string, unknown>>

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool'])

type MessagePart = Readonly<Record<string, unknown>>

function isText(part: unknown): boolean {
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
  return listOf(content)
    .flatMap(part => (role === 'tool' ? (resultText(part) ?? []) : isText(part) ? String(peek(part, 'text')) : []))
    .join('\n')
}

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
  return listOf(value)
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
  const system = injectedTexts('system', injections)
  const user = injectedTexts('user', injections).map(userMessage)
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

export function withFeedback(
  prompt: readonly PromptMessage[],
  answer: string,
  feedback: string | undefined,
): readonly PromptMessage[] {
  if (feedback === undefined) return prompt
  const said = answer === '' ? [] : [{ role: 'assistant', content: [{ type: 'text', text: answer }] }]
  return [...prompt, ...said, userMessage(feedback)]
}

export type AnswerPart = Readonly<Record<string, unknown>>

export interface RequestedCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

export interface AnswerContent {
  readonly text: string
  readonly calls: readonly RequestedCall[]
  /** A streamed answer carries its error in a chunk. */
  readonly error?: unknown
  readonly usage?: ModelUsage | undefined
}

export interface AnswerFormat<Result> {
  contentOf(result: Result): AnswerContent
  withText(result: Result, text: string, dropsCalls: boolean): Result
  fromText(text: string): Result
}

export interface WholeAnswer {
  readonly content: readonly AnswerPart[]
  readonly finishReason: unknown
  readonly usage?: unknown
}

export interface BufferedAnswer {
  readonly chunks: readonly AnswerPart[]
  readonly rest: object
}

function syntheticEnd(version: unknown): { readonly finishReason: unknown; readonly usage: unknown } {
  if (version === 'v2')
    return { finishReason: 'stop', usage: { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined } }
  const none = { total: undefined }
  return {
    finishReason: STOPPED,
    usage: {
      inputTokens: { ...none, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { ...none, text: undefined, reasoning: undefined },
    },
  }
}

const STOPPED = Object.freeze({ unified: 'stop', raw: undefined })

/** Counts are numbers up to version 2, and objects since. */
function modelUsageOf(usage: unknown): ModelUsage | undefined {
  const [input, output] = [peek(usage, 'inputTokens'), peek(usage, 'outputTokens')]
  return modelUsage(usageOf({ input: peek(input, 'total') ?? input, output: peek(output, 'total') ?? output }))
}

/** The tool calls were dropped, so they are not the reason of the end. */
function stopReason(finishReason: unknown): unknown {
  return typeof finishReason === 'string' ? 'stop' : STOPPED
}

export function requestedCallOf(part: unknown): RequestedCall | undefined {
  const id = textOf(peek(part, 'toolCallId'))
  const name = textOf(peek(part, 'toolName'))
  if (peek(part, 'type') !== 'tool-call' || id === undefined || name === undefined) return undefined
  if (peek(part, 'providerExecuted') === true) return undefined
  const input = peek(part, 'input')
  // Models send JSON text; the SDK's messages have the parsed value.
  return { id, name, input: typeof input === 'string' ? jsonIn(input, input.trim() === '' ? {} : input) : input }
}

export function wholeFormat(version: unknown): AnswerFormat<WholeAnswer> {
  return {
    contentOf({ content, usage }) {
      const text = content.flatMap(part => (isText(part) ? String(part['text']) : [])).join('')
      return { text, calls: content.flatMap(part => requestedCallOf(part) ?? []), usage: modelUsageOf(usage) }
    },
    withText(result, text, alone) {
      const said = { type: 'text', text }
      if (alone) return { ...result, content: [said], finishReason: stopReason(result.finishReason) }
      return { ...result, content: replaceParts(result.content, isText, [said]) }
    },
    fromText: text => ({ content: [{ type: 'text', text }], ...syntheticEnd(version), warnings: [] }),
  }
}

const TEXT_ID = 'hookspan'
const TEXTS: ReadonlySet<unknown> = new Set(['text-start', 'text-delta', 'text-end'])
const STARTS: ReadonlySet<unknown> = new Set(['stream-start', 'response-metadata'])

export function streamFormat(version: unknown): AnswerFormat<BufferedAnswer> {
  return {
    contentOf({ chunks }) {
      const text = chunks.flatMap(chunk => (chunk['type'] === 'text-delta' ? String(chunk['delta']) : [])).join('')
      const error = chunks.find(({ type }) => type === 'error')?.['error']
      const usage = modelUsageOf(chunks.find(({ type }) => type === 'finish')?.['usage'])
      return { text, calls: chunks.flatMap(chunk => requestedCallOf(chunk) ?? []), error, usage }
    },
    withText(held, text, alone) {
      const { chunks } = held
      if (!alone) return { ...held, chunks: replaceParts(chunks, ({ type }) => TEXTS.has(type), textChunks(text)) }
      const last = chunks.find(({ type }) => type === 'finish')
      const end = last === undefined ? [] : [{ ...last, finishReason: stopReason(last['finishReason']) }]
      return { ...held, chunks: [...chunks.filter(({ type }) => STARTS.has(type)), ...textChunks(text), ...end] }
    },
    fromText: text => {
      const finish = { type: 'finish', ...syntheticEnd(version) }
      return { chunks: [{ type: 'stream-start', warnings: [] }, ...textChunks(text), finish], rest: {} }
    },
  }
}

function replaceParts(
  parts: readonly AnswerPart[],
  isMeant: (part: AnswerPart) => boolean,
  others: readonly AnswerPart[],
): readonly AnswerPart[] {
  const done = replaceFirst(parts, isMeant, () => others)
  if (done !== undefined) return done
  const start = parts.filter(({ type }) => STARTS.has(type)).length
  return [...parts.slice(0, start), ...others, ...parts.slice(start)]
}

function textChunks(text: string): AnswerPart[] {
  return [
    { type: 'text-start', id: TEXT_ID },
    { type: 'text-delta', id: TEXT_ID, delta: text },
    { type: 'text-end', id: TEXT_ID },
  ]
}
