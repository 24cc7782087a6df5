import { isPlain } from './frozen-copy.ts'
import { type RawToolCall, type ToolArguments, type ToolCall, toolCallOf } from './tool-call.ts'
import type { Ask, Block, Decision, Inject, Pass, Retry, Rewrite } from './verdict.ts'

/** A message of a conversation, in one language. */
export interface ModelMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** What is text of it. */
  readonly text: string
}

/** What the person has said; nothing has been made of it. */
export interface BeforeTurn {
  readonly prompt: string
}

/** What the agent would answer. */
export interface AfterTurn {
  readonly answer: string
  /** How often this turn has been sent on by `retry`. */
  readonly attempt: number
}

/** What is about to be sent to the model. A rewrite has the same messages, with other texts. */
export interface BeforeModel {
  readonly model: string | undefined
  readonly messages: readonly ModelMessage[]
}

/** What the model has answered, or how the request failed. */
export interface AfterModel {
  readonly model: string | undefined
  readonly text: string
  readonly toolCalls: readonly ToolCall[]
  readonly error?:
    | {
        readonly type?: string | undefined
        readonly status?: number | undefined
        readonly message?: string | undefined
      }
    | undefined
  /** What the request took, where the agent tells it. */
  readonly usage?: ModelUsage | undefined
  /** 0: the first one. */
  readonly attempt: number
}

/** What a request to the model took. */
export interface ModelUsage {
  /** All that was read, from a cache or not. */
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly costUsd?: number | undefined
}

export interface BeforeTool {
  readonly tool: ToolCall
}

export interface AfterTool {
  readonly tool: ToolCall
  /** As the model is to get it. */
  readonly result: unknown
  readonly isError: boolean
  readonly attempt: number
}

/** What each phase sees, what a rewrite of it is, and what may be decided in it beside `pass`. */
export interface Phases {
  beforeTurn: { readonly event: BeforeTurn; readonly value: string; readonly decision: 'block' | 'rewrite' | 'inject' }
  afterTurn: { readonly event: AfterTurn; readonly value: string; readonly decision: 'block' | 'rewrite' | 'retry' }
  beforeModel: {
    readonly event: BeforeModel
    readonly value: readonly ModelMessage[]
    readonly decision: 'block' | 'rewrite' | 'inject'
  }
  afterModel: { readonly event: AfterModel; readonly value: string; readonly decision: 'block' | 'rewrite' | 'retry' }
  beforeTool: {
    readonly event: BeforeTool
    readonly value: ToolArguments
    readonly decision: 'block' | 'rewrite' | 'inject' | 'ask'
  }
  afterTool: {
    readonly event: AfterTool
    readonly value: unknown
    readonly decision: 'block' | 'rewrite' | 'inject' | 'retry'
  }
}

export type Phase = keyof Phases
export type EventOf<P extends Phase> = Phases[P]['event']
export type ValueOf<P extends Phase> = Phases[P]['value']
export type DecisionOf<P extends Phase> = Phases[P]['decision']

/** What a hook may say in a phase. */
export type Verdict<P extends Phase, D extends Decision = Decision> =
  | Pass
  | Extract<Block | Rewrite<ValueOf<P>> | Inject | Retry | Ask, { decision: DecisionOf<P> & D }>

interface PhaseRow<P extends Phase> {
  /** The word of it in the trace. */
  readonly word: string
  /** After something has happened the hooks come in reversed order. */
  readonly isAfter: boolean
  readonly decisions: ReadonlySet<Decision>
  valueOf(event: EventOf<P>): ValueOf<P>
  /** The event with another value. Undefined: that is none. */
  rewritten(event: EventOf<P>, value: unknown): EventOf<P> | undefined
}

const textual = (value: unknown): value is string => typeof value === 'string'

export const PHASES: { readonly [P in Phase]: PhaseRow<P> } = {
  beforeTurn: {
    word: 'before_turn',
    isAfter: false,
    decisions: new Set(['pass', 'block', 'rewrite', 'inject']),
    valueOf: ({ prompt }) => prompt,
    rewritten: (event, prompt) => (textual(prompt) ? { ...event, prompt } : undefined),
  },
  afterTurn: {
    word: 'after_turn',
    isAfter: true,
    decisions: new Set(['pass', 'block', 'rewrite', 'retry']),
    valueOf: ({ answer }) => answer,
    rewritten: (event, answer) => (textual(answer) ? { ...event, answer } : undefined),
  },
  beforeModel: {
    word: 'before_model',
    isAfter: false,
    decisions: new Set(['pass', 'block', 'rewrite', 'inject']),
    valueOf: ({ messages }) => messages,
    rewritten: (event, value) => (sameShape(value, event.messages) ? { ...event, messages: value } : undefined),
  },
  afterModel: {
    word: 'after_model',
    isAfter: true,
    decisions: new Set(['pass', 'block', 'rewrite', 'retry']),
    valueOf: ({ text }) => text,
    rewritten: (event, text) => (textual(text) ? { ...event, text } : undefined),
  },
  beforeTool: {
    word: 'before_tool',
    isAfter: false,
    decisions: new Set(['pass', 'block', 'rewrite', 'inject', 'ask']),
    valueOf: ({ tool }) => tool.arguments,
    rewritten: (event, value) =>
      isPlain(value) ? { ...event, tool: toolCallOf(rawOf(event.tool, value)) } : undefined,
  },
  afterTool: {
    word: 'after_tool',
    isAfter: true,
    decisions: new Set(['pass', 'block', 'rewrite', 'inject', 'retry']),
    valueOf: ({ result }) => result,
    rewritten: (event, result) => (result === undefined ? undefined : { ...event, result }),
  },
}

export const PHASE_NAMES = Object.keys(PHASES) as readonly Phase[]

function rawOf({ name, id, cwd }: ToolCall, args: ToolArguments): RawToolCall {
  return { name, arguments: args, id, cwd }
}

/** Other texts of the same messages: with others than those no host could find its own again. */
function sameShape(value: unknown, messages: readonly ModelMessage[]): value is readonly ModelMessage[] {
  return (
    Array.isArray(value) &&
    value.length === messages.length &&
    value.every((each, at) => isPlain(each) && textual(each['text']) && each['role'] === messages[at]?.role)
  )
}
