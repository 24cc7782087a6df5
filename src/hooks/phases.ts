import { isPlain } from './frozen-copy.ts'
import { type RawToolCall, type ToolArguments, type ToolCall, toolCallOf } from './tool-call.ts'
import type { Ask, Block, Decision, Inject, Pass, Retry, Rewrite } from './verdict.ts'

/** A message of a conversation, in one language. */
export interface ModelMessage {
  /** Who says it; `tool`: a result. */
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** What is text of it. */
  readonly text: string
}

/** What the person has said; nothing has been made of it. */
export interface BeforeTurn {
  /** What the person has written. */
  readonly prompt: string
}

/** What the agent would answer. */
export interface AfterTurn {
  /** The last text of the turn. */
  readonly answer: string
  /** How often this turn has been sent on by `retry`. */
  readonly attempt: number
}

/** What is about to be sent to the model. A rewrite has the same messages, with other texts. */
export interface BeforeModel {
  /** The model's name, where the agent tells it. */
  readonly model: string | undefined
  /** The whole conversation, oldest first. */
  readonly messages: readonly ModelMessage[]
}

/** What the model has answered, or how the request failed. */
export interface AfterModel {
  /** The model's name, where the agent tells it. */
  readonly model: string | undefined
  /** What it said; empty where it only calls tools, or failed. */
  readonly text: string
  /** What it wants to be run. */
  readonly toolCalls: readonly ToolCall[]
  /** How the request failed; `status` is that of HTTP. */
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
  /** All that was written, reasoning included. */
  readonly outputTokens?: number | undefined
  /** What it cost, in US dollars. */
  readonly costUsd?: number | undefined
}

/** A tool is about to run. */
export interface BeforeTool {
  /** The call, with the arguments that it would run with. */
  readonly tool: ToolCall
}

/** A tool has run. */
export interface AfterTool {
  /** The call, with the arguments that it ran with. */
  readonly tool: ToolCall
  /** As the model is to get it. */
  readonly result: unknown
  /** The agent takes the result for a failure. */
  readonly isError: boolean
  /** 0: the first run of this call; 1: the first `retry`. */
  readonly attempt: number
}

/** What each phase sees, what a rewrite of it is, and what may be decided in it beside `pass`. */
export interface Phases {
  /** A person has said something. */
  beforeTurn: { readonly event: BeforeTurn; readonly value: string; readonly decision: 'block' | 'rewrite' | 'inject' }
  /** The agent has its answer. */
  afterTurn: { readonly event: AfterTurn; readonly value: string; readonly decision: 'block' | 'rewrite' | 'retry' }
  /** A request is about to be sent to the model. */
  beforeModel: {
    readonly event: BeforeModel
    readonly value: readonly ModelMessage[]
    readonly decision: 'block' | 'rewrite' | 'inject'
  }
  /** The model has answered, or the request has failed. */
  afterModel: { readonly event: AfterModel; readonly value: string; readonly decision: 'block' | 'rewrite' | 'retry' }
  /** A tool is about to run. */
  beforeTool: {
    readonly event: BeforeTool
    readonly value: ToolArguments
    readonly decision: 'block' | 'rewrite' | 'inject' | 'ask'
  }
  /** A tool has run. */
  afterTool: {
    readonly event: AfterTool
    readonly value: unknown
    readonly decision: 'block' | 'rewrite' | 'inject' | 'retry'
  }
}

/** Where hooks are asked. */
export type Phase = keyof Phases
/** What the hooks of a phase are handed. */
export type EventOf<P extends Phase> = Phases[P]['event']
/** What a rewrite of a phase replaces. */
export type ValueOf<P extends Phase> = Phases[P]['value']
/** What may be decided in a phase, beside `pass`. */
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

/** The folder that other arguments have named is not the agent's. */
function rawOf({ name, id, cwd, agentCwd, kind }: ToolCall, args: ToolArguments): RawToolCall {
  return { name, arguments: args, id, cwd: kind === 'shell' ? agentCwd : cwd }
}

/** Other texts of the same messages: with others than those no host could find its own again. */
function sameShape(value: unknown, messages: readonly ModelMessage[]): value is readonly ModelMessage[] {
  return (
    Array.isArray(value) &&
    value.length === messages.length &&
    value.every((each, at) => isPlain(each) && textual(each['text']) && each['role'] === messages[at]?.role)
  )
}
