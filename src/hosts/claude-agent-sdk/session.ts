import type { HookRecord } from '../../contract/index.ts'
import type { HostEvent } from '../host-event.ts'
import { NO_TOKENS, type Tokens } from './usage.ts'

/** One attempt at a model request, from its start until it is told how it ended. */
export interface Attempt {
  readonly id: string
  /** From 0. */
  readonly retry: number
  /** Epoch ms. */
  readonly startAt: number
  /** Undefined until the message that answers it is seen. */
  messageId: string | undefined
  model: string | undefined
  /** Content blocks, as the SDK sent them one by one. */
  readonly content: unknown[]
  tokens: Tokens | undefined
  /** How much of `tokens` the session has counted. */
  counted: Tokens
  /** The tokens are final: there is nothing to add. */
  isExact: boolean
  /** Start and end were said by the host, not worked out from what came before. */
  isTimed: boolean
  firstChunkAt: number | undefined
  stopReason: string | undefined
  endAt: number | undefined
}

/** One tool call, from the message that asks for it until its turn is over. */
export interface Call {
  readonly id: string
  readonly loop: Loop
  name: string | undefined
  input: unknown
  /** `api_request_id` of the attempt that asked. */
  requestId: string | undefined
  state: 'asked' | 'running' | 'ended'
  approval: 'none' | 'open' | 'answered'
  /** Somebody said no. */
  isDenied: boolean
  /** It was in a batch that is over, and no hook had told its end. */
  batched: { readonly at: number; readonly response: unknown } | undefined
}

/** A model and its tools, from a prompt to the answer: a turn of the session, or the work of a child agent. */
export interface Loop {
  readonly sessionId: string
  readonly turnId: string
  promptId: string | undefined
  /** Told with the first sign of what model works on it. */
  prompt: { readonly at: number; readonly text: unknown } | undefined
  model: string | undefined
  /** The session's, for a child of which no message was seen. */
  readonly assumedModel: string | undefined
  /** Since when a request may be under way that nothing has been seen of yet. */
  askedAt: number | undefined
  /** In order; those that were answered wait for what may still be said of them. */
  open: Attempt[]
  /** Message ids of the attempts that were told last: a late block of one begins no new attempt. */
  told: string[]
  requests: number
  retry: number
  reported: Tokens
  readonly calls: Set<Call>
  stopped: { readonly at: number; readonly text: unknown } | undefined
  failure: string | undefined
  isInterrupted: boolean
  lastAt: number
}

/** A child agent; its loop is undefined when it rests. */
export interface Child {
  readonly agentId: string
  loop: Loop | undefined
  runs: number
  callId: string | undefined
  role: string | undefined
  parent: { readonly sessionId: string; readonly turnId: string | undefined }
  notified: { readonly at: number; readonly data: unknown } | undefined
  handedBack: { readonly at: number; readonly response: unknown; readonly hasFailed: boolean } | undefined
}

export interface Session {
  readonly id: string
  model: string | undefined
  isAnnounced: boolean
  turns: number
  main: Loop | undefined
  /** A prompt whose turn begins with the next event: by then the model is known. */
  prompt: { readonly at: number; readonly id: string | undefined; readonly text: unknown } | undefined
  /** `prompt_id` of the turn that ended last: what comes late for it begins nothing. */
  endedPromptId: string | undefined
  /** Hooks of the next turn, while the messages of this one are still on their way through the application. */
  waiting: HostEvent[]
  readonly calls: Map<string, Call>
  readonly children: Map<string, Child>
  compactions: number
  /** `uuid` of messages. */
  readonly seen: Set<string>
  /** One that is told when it is known what it used. */
  compaction: { readonly id: string; readonly turnId: string | undefined; endAt: number | undefined } | undefined
  /** Tokens told on requests since the last result. */
  counted: Tokens
  /** Counted by the SDK and not told yet; below zero: told, and to be counted with a later result. */
  owed: Tokens
}

/** Records that follow from the event at hand. */
export type Out = HookRecord[]

export function newSession(id: string): Session {
  return {
    id,
    model: undefined,
    isAnnounced: false,
    turns: 0,
    main: undefined,
    prompt: undefined,
    endedPromptId: undefined,
    waiting: [],
    calls: new Map(),
    children: new Map(),
    compactions: 0,
    seen: new Set(),
    compaction: undefined,
    counted: NO_TOKENS,
    owed: NO_TOKENS,
  }
}

export function newLoop(
  ids: { readonly sessionId: string; readonly turnId: string },
  at: number,
  text: unknown,
  assumedModel: string | undefined,
): Loop {
  return {
    sessionId: ids.sessionId,
    turnId: ids.turnId,
    promptId: undefined,
    prompt: { at, text },
    model: undefined,
    assumedModel,
    askedAt: at,
    open: [],
    told: [],
    requests: 0,
    retry: 0,
    reported: NO_TOKENS,
    calls: new Set(),
    stopped: undefined,
    failure: undefined,
    isInterrupted: false,
    lastAt: at,
  }
}

export function newCall(session: Session, loop: Loop, id: string): Call {
  const call: Call = {
    id,
    loop,
    name: undefined,
    input: undefined,
    requestId: undefined,
    state: 'asked',
    approval: 'none',
    isDenied: false,
    batched: undefined,
  }
  session.calls.set(id, call)
  loop.calls.add(call)
  return call
}

/** What every record of a loop carries. */
export function idsOf(loop: Loop): { readonly session_id: string; readonly turn_id: string } {
  return { session_id: loop.sessionId, turn_id: loop.turnId }
}
