import { isPlain } from './frozen-copy.ts'
import { type ToolArguments, type ToolCall, toolCallOf } from './tool-call.ts'
import type { Ask, Block, Decision, Inject, Pass, Retry, Rewrite } from './verdict.ts'

/** A message of the conversation, in a host-independent form. */
export interface ModelMessage {
  /** The author's role; `tool` is a tool result. */
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** The text parts of the message. */
  readonly text: string
}

/** The user has sent a prompt. The agent has not processed it yet. */
export interface BeforeTurn {
  /** The user's prompt. */
  readonly prompt: string
}

/** The agent is about to answer. */
export interface AfterTurn {
  /** The last text of the turn. */
  readonly answer: string
  /** The number of retries of this turn so far. */
  readonly attempt: number
}

/** A request is about to be sent to the model. A rewrite must keep the messages and may only change their texts. */
export interface BeforeModel {
  /** The model's name, if the agent reports it. */
  readonly model: string | undefined
  /** The whole conversation, oldest first. */
  readonly messages: readonly ModelMessage[]
}

/** The model has answered, or the request has failed. */
export interface AfterModel {
  /** The model's name, if the agent reports it. */
  readonly model: string | undefined
  /** The text of the answer. Empty if the model only calls tools or the request failed. */
  readonly text: string
  /** The tool calls that the model requests. */
  readonly toolCalls: readonly ToolCall[]
  /** The error of a failed request; `status` is the HTTP status. */
  readonly error?:
    | {
        readonly type?: string | undefined
        readonly status?: number | undefined
        readonly message?: string | undefined
      }
    | undefined
  /** Usage of the request, if the agent reports it. */
  readonly usage?: ModelUsage | undefined
  /** 0 for the first attempt. */
  readonly attempt: number
}

/** Token usage and cost of a request to the model. */
export interface ModelUsage {
  /** All input tokens, cached or not. */
  readonly inputTokens?: number | undefined
  /** All output tokens, reasoning included. */
  readonly outputTokens?: number | undefined
  /** The cost in US dollars. */
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
  /** The result that the model will receive. */
  readonly result: unknown
  /** The agent considers the result an error. */
  readonly isError: boolean
  /** 0 for the first run of this call, 1 for the first `retry`. */
  readonly attempt: number
}

/** Event, rewritable value and possible decisions (beside `pass`) of each phase. */
export interface Phases {
  /** The user has sent a prompt. */
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

/** The name of a phase. */
export type Phase = keyof Phases
/** The event of a phase. */
export type EventOf<P extends Phase> = Phases[P]['event']
/** The value that a rewrite replaces in a phase. */
export type ValueOf<P extends Phase> = Phases[P]['value']
/** The possible decisions of a phase, beside `pass`. */
export type DecisionOf<P extends Phase> = Phases[P]['decision']

/** The possible verdicts of a phase. */
export type Verdict<P extends Phase, D extends Decision = Decision> =
  | Pass
  | Extract<Block | Rewrite<ValueOf<P>> | Inject | Retry | Ask, { decision: DecisionOf<P> & D }>

/** `field`: the name of the rewritable value. */
interface PhaseRow<P extends Phase> {
  readonly word: string
  readonly isAfter: boolean
  readonly field: string
  readonly decisions: ReadonlySet<Decision>
  valueOf(event: EventOf<P>): ValueOf<P>
  rewritten(event: EventOf<P>, value: unknown): EventOf<P> | undefined
}

function row<P extends Phase>(
  phase: P,
  field: keyof EventOf<P> & string,
  accepts: (value: unknown, event: EventOf<P>) => boolean,
  decisions: readonly Decision[],
): PhaseRow<P> {
  return {
    word: phase.replace(/[A-Z]/, letter => `_${letter.toLowerCase()}`),
    isAfter: phase.startsWith('after'),
    field,
    decisions: new Set<Decision>(['pass', ...decisions]),
    valueOf: event => event[field] as ValueOf<P>,
    rewritten: (event, value) => (accepts(value, event) ? { ...event, [field]: value } : undefined),
  }
}

const isText = (value: unknown): boolean => typeof value === 'string'

export const PHASES: { readonly [P in Phase]: PhaseRow<P> } = {
  beforeTurn: row('beforeTurn', 'prompt', isText, ['block', 'rewrite', 'inject']),
  afterTurn: row('afterTurn', 'answer', isText, ['block', 'rewrite', 'retry']),
  beforeModel: row('beforeModel', 'messages', hasSameShape, ['block', 'rewrite', 'inject']),
  afterModel: row('afterModel', 'text', isText, ['block', 'rewrite', 'retry']),
  beforeTool: {
    ...row('beforeTool', 'tool', isPlain, ['block', 'rewrite', 'inject', 'ask']),
    field: 'arguments',
    valueOf: ({ tool }) => tool.arguments,
    rewritten(event, value) {
      if (!isPlain(value)) return undefined
      const { name, id, cwd, agentCwd, kind } = event.tool
      // The folder named by the old arguments must not leak into the rewritten call.
      const ownCwd = kind === 'shell' ? agentCwd : cwd
      return { ...event, tool: toolCallOf({ name, arguments: value, id, cwd: ownCwd }) }
    },
  },
  afterTool: row('afterTool', 'result', result => result !== undefined, ['block', 'rewrite', 'inject', 'retry']),
}

export const PHASE_NAMES = Object.keys(PHASES) as readonly Phase[]

/** Checks that only the texts differ: a host cannot map changed messages back to its own. */
function hasSameShape(value: unknown, { messages }: BeforeModel): boolean {
  return (
    Array.isArray(value) &&
    value.length === messages.length &&
    value.every((each, at) => isPlain(each) && isText(each['text']) && each['role'] === messages[at]?.role)
  )
}
