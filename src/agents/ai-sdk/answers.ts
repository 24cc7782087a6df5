import { peek, textOf } from '../../contract/foreign.ts'
import type { ModelUsage } from '../../guards/index.ts'
import { modelUsage, usageOf } from '../base/usage.ts'
import { isText } from './prompt-texts.ts'

/** A part of a whole answer, or a chunk of a streamed one. */
export type Part = Readonly<Record<string, unknown>>

export interface WantedCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

export interface Said {
  readonly text: string
  readonly calls: readonly WantedCall[]
  /** A streamed answer carries its error in a chunk. */
  readonly error?: unknown
  readonly usage?: ModelUsage | undefined
}

/** Reads and changes one format of answers: whole or streamed. */
export interface AnswerForm<Result> {
  said(result: Result): Said
  /** @param alone drops the tool calls */
  withText(result: Result, text: string, alone: boolean): Result
  /** Builds an answer that no model gave. */
  made(text: string): Result
}

export interface WholeAnswer {
  readonly content: readonly Part[]
  readonly finishReason: unknown
  readonly usage?: unknown
}

export interface HeldAnswer {
  readonly chunks: readonly Part[]
  /** The fields beside the stream. */
  readonly rest: object
}

/** The end of an answer that hooks give, in this version's format. */
function endOf(version: unknown): { readonly finishReason: unknown; readonly usage: unknown } {
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
function usageSeen(usage: unknown): ModelUsage | undefined {
  const [input, output] = [peek(usage, 'inputTokens'), peek(usage, 'outputTokens')]
  return modelUsage(usageOf({ input: peek(input, 'total') ?? input, output: peek(output, 'total') ?? output }))
}

/** The tool calls were dropped, so they are not the reason of the end. */
function stopped(finishReason: unknown): unknown {
  return typeof finishReason === 'string' ? 'stop' : STOPPED
}

export function callOf(part: unknown): WantedCall | undefined {
  const id = textOf(peek(part, 'toolCallId'))
  const name = textOf(peek(part, 'toolName'))
  if (peek(part, 'type') !== 'tool-call' || id === undefined || name === undefined) return undefined
  // The provider has run it already.
  if (peek(part, 'providerExecuted') === true) return undefined
  return { id, name, input: plainInput(peek(part, 'input')) }
}

/** Models send JSON text; the SDK's messages have the parsed value. */
function plainInput(input: unknown): unknown {
  if (typeof input !== 'string') return input
  try {
    return JSON.parse(input)
  } catch {
    return input.trim() === '' ? {} : input
  }
}

export function wholeForm(version: unknown): AnswerForm<WholeAnswer> {
  return {
    said({ content, usage }) {
      const text = content.flatMap(part => (isText(part) ? String(part['text']) : [])).join('')
      return { text, calls: content.flatMap(part => callOf(part) ?? []), usage: usageSeen(usage) }
    },
    withText(result, text, alone) {
      const said = { type: 'text', text }
      if (alone) return { ...result, content: [said], finishReason: stopped(result.finishReason) }
      return { ...result, content: inPlaceOf(result.content, isText, [said]) }
    },
    made: text => ({ content: [{ type: 'text', text }], ...endOf(version), warnings: [] }),
  }
}

const TEXT_ID = 'hookspan'
const TEXTS: ReadonlySet<unknown> = new Set(['text-start', 'text-delta', 'text-end'])
const STARTS: ReadonlySet<unknown> = new Set(['stream-start', 'response-metadata'])

function isOfText({ type }: Part): boolean {
  return TEXTS.has(type)
}

export function streamForm(version: unknown): AnswerForm<HeldAnswer> {
  return {
    said({ chunks }) {
      const text = chunks.flatMap(chunk => (chunk['type'] === 'text-delta' ? String(chunk['delta']) : [])).join('')
      const error = chunks.find(({ type }) => type === 'error')?.['error']
      const usage = usageSeen(chunks.find(({ type }) => type === 'finish')?.['usage'])
      return { text, calls: chunks.flatMap(chunk => callOf(chunk) ?? []), error, usage }
    },
    withText(held, text, alone) {
      const { chunks } = held
      if (!alone) return { ...held, chunks: inPlaceOf(chunks, isOfText, textChunks(text)) }
      const last = chunks.find(({ type }) => type === 'finish')
      const end = last === undefined ? [] : [{ ...last, finishReason: stopped(last['finishReason']) }]
      return { ...held, chunks: [...chunks.filter(({ type }) => STARTS.has(type)), ...textChunks(text), ...end] }
    },
    made: text => {
      const finish = { type: 'finish', ...endOf(version) }
      return { chunks: [{ type: 'stream-start', warnings: [] }, ...textChunks(text), finish], rest: {} }
    },
  }
}

/** Replaces the first matching part and removes the others. */
function inPlaceOf(parts: readonly Part[], isMeant: (part: Part) => boolean, others: readonly Part[]): readonly Part[] {
  let isDone = false
  const done = parts.flatMap(part => {
    if (!isMeant(part)) return part
    const isFirst = !isDone
    isDone = true
    return isFirst ? others : []
  })
  if (isDone) return done
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
