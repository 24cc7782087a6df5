import { isArray, peek, textOf } from '../../contract/foreign.ts'
import type { AfterModel, Injection, ModelMessage, ModelUsage, ToolCall } from '../../guards/index.ts'
import { toolCallOf } from '../../guards/index.ts'
import {
  injectedTexts,
  isText,
  listOf,
  namedArguments,
  replaceFirst,
  wholeText,
  withText as withTextPart,
} from '../base/guard-values.ts'
import type { AnswerFormat } from '../base/guarded-answer.ts'
import { modelUsage, usageOf } from '../base/usage.ts'
import { jsonIn } from '../event-json.ts'
import { plainError } from './types.ts'

/** A message of a prompt, or a part of a message or an answer. */
export type Part = Readonly<Record<string, unknown>>

export interface Request {
  readonly prompt: readonly Part[]
  readonly abortSignal?: AbortSignal | undefined
}

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool'])

function messagesOf({ prompt }: Request): ModelMessage[] {
  return prompt.map(message => ({
    role: (ROLES.has(message['role']) ? message['role'] : 'user') as ModelMessage['role'],
    text: textOfMessage(message),
  }))
}

export function textOfMessage({ role, content }: Part): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .flatMap(part => (role === 'tool' ? (resultText(part) ?? []) : isText(part) ? part.text : []))
    .join('\n')
}

export function withText(message: Part, text: string): Part {
  const { role, content } = message
  if (!isArray(content)) return { ...message, content: text }
  if (role !== 'tool') return { ...message, content: withTextPart(content, text) }
  const isResult = (part: unknown): boolean => resultText(part) !== undefined
  const first = content.findIndex(isResult)
  const withValue = (part: unknown, value: string): object => ({ ...(part as Part), output: { type: 'text', value } })
  return {
    ...message,
    content: content.map((part, at) => (isResult(part) ? withValue(part, at === first ? text : '') : part)),
  }
}

function resultText(part: unknown): string | undefined {
  if (peek(part, 'type') !== 'tool-result') return undefined
  const output = peek(part, 'output')
  const value = peek(output, 'value') ?? peek(output, 'reason')
  if (typeof value === 'string') return value
  if (peek(output, 'type') !== 'content') return JSON.stringify(value ?? null)
  return wholeText(value)
}

function withMessages(request: Request, texts: readonly ModelMessage[], injections: readonly Injection[]): Request {
  const prompt = request.prompt.map((message, at) => {
    const text = texts[at]?.text
    return text === undefined || text === textOfMessage(message) ? message : withText(message, text)
  })
  return { ...request, prompt: injectTexts(prompt, injections) }
}

/** Appends user text as a message. System text joins the one system message, because not every model accepts several. */
export function injectTexts(prompt: readonly Part[], injections: readonly Injection[]): Part[] {
  const system = injectedTexts('system', injections)
  const user = injectedTexts('user', injections).map(userMessage)
  const said = [...prompt, ...user]
  if (system.length === 0) return said
  const [first, ...others] = said
  return first?.['role'] === 'system'
    ? [{ ...first, content: [first['content'], ...system].join('\n\n') }, ...others]
    : [{ role: 'system', content: system.join('\n\n') }, ...said]
}

function userMessage(text: string): Part {
  return { role: 'user', content: [{ type: 'text', text }] }
}

function withFeedback(request: Request, answer: string, feedback: string | undefined): Request {
  if (feedback === undefined) return request
  const said = answer === '' ? [] : [{ role: 'assistant', content: [{ type: 'text', text: answer }] }]
  return { ...request, prompt: [...request.prompt, ...said, userMessage(feedback)] }
}

export interface RequestedCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

const REQUEST_FORMAT = { messagesOf, withMessages, withFeedback, errorOf }

function errorOf(error: unknown): AfterModel['error'] {
  const { name, statusCode, message } = plainError(error)
  return { type: name, status: statusCode, message }
}

function toolCallsOf(parts: readonly Part[]): ToolCall[] {
  const calls = parts.flatMap(part => requestedCallOf(part) ?? [])
  return calls.map(({ id, name, input }) => toolCallOf({ id, name, arguments: namedArguments(input) }))
}

export interface WholeAnswer {
  readonly content: readonly Part[]
  readonly finishReason: unknown
  readonly usage?: unknown
}

/** A streamed answer. `content`: the chunks of its stream. */
export interface BufferedAnswer {
  readonly content: readonly Part[]
  readonly rest: object
}

function syntheticEnd(version: unknown): { readonly finishReason: unknown; readonly usage: unknown } {
  const none = undefined
  if (version === 'v2')
    return { finishReason: 'stop', usage: { inputTokens: none, outputTokens: none, totalTokens: none } }
  const inputTokens = { total: none, noCache: none, cacheRead: none, cacheWrite: none }
  return { finishReason: STOPPED, usage: { inputTokens, outputTokens: { total: none, text: none, reasoning: none } } }
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

export function wholeFormat(version: unknown): AnswerFormat<Request, WholeAnswer> {
  return {
    ...REQUEST_FORMAT,
    contentOf({ content, usage }) {
      const text = content.flatMap(part => (isText(part) ? part.text : [])).join('')
      return { text, toolCalls: toolCallsOf(content), usage: modelUsageOf(usage) }
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

export function streamFormat(version: unknown): AnswerFormat<Request, BufferedAnswer> {
  return {
    ...REQUEST_FORMAT,
    contentOf({ content: chunks }) {
      const text = chunks.flatMap(chunk => (chunk['type'] === 'text-delta' ? String(chunk['delta']) : [])).join('')
      const error = chunks.find(({ type }) => type === 'error')?.['error']
      const usage = modelUsageOf(chunks.find(({ type }) => type === 'finish')?.['usage'])
      return { text, toolCalls: toolCallsOf(chunks), error, usage }
    },
    withText(held, text, alone) {
      const { content: chunks } = held
      if (!alone) return { ...held, content: replaceParts(chunks, ({ type }) => TEXTS.has(type), textChunks(text)) }
      const last = chunks.find(({ type }) => type === 'finish')
      const end = last === undefined ? [] : [{ ...last, finishReason: stopReason(last['finishReason']) }]
      return { ...held, content: [...chunks.filter(({ type }) => STARTS.has(type)), ...textChunks(text), ...end] }
    },
    fromText: text => {
      const finish = { type: 'finish', ...syntheticEnd(version) }
      return { content: [{ type: 'stream-start', warnings: [] }, ...textChunks(text), finish], rest: {} }
    },
  }
}

function replaceParts(parts: readonly Part[], isMeant: (part: Part) => boolean, others: readonly Part[]): Part[] {
  const done = replaceFirst(parts, isMeant, () => others)
  if (done !== undefined) return done
  const start = parts.filter(({ type }) => STARTS.has(type)).length
  return [...parts.slice(0, start), ...others, ...parts.slice(start)]
}

function textChunks(text: string): Part[] {
  return [
    { type: 'text-start', id: TEXT_ID },
    { type: 'text-delta', id: TEXT_ID, delta: text },
    { type: 'text-end', id: TEXT_ID },
  ]
}
