import type { Approval } from '../base/approval.ts'
import type { DelegatedTask } from '../base/delegation.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import type { Records } from '../base/records.ts'
import { ModelRequest, RequestCounter, type RequestNumbers } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import { RecordedTurn } from '../base/turn.ts'
import { NO_USAGE, type TokenUsage } from '../base/usage.ts'

/** One attempt at a model request, until its end is emitted. */
export class Attempt extends ModelRequest {
  /** Undefined until the message that answers it is read. */
  messageId: string | undefined
  model: string | undefined
  /** Content blocks, which the SDK sends one by one. */
  readonly content: unknown[] = []
  tokens: TokenUsage | undefined
  /** The part of `tokens` that the session has counted. */
  counted: TokenUsage = NO_USAGE
  /** The tokens are final. */
  isExact = false
  /** The host reported start and end; otherwise they are derived from earlier events. */
  readonly isTimed: boolean
  stopReason: string | undefined
  endAt: number | undefined

  constructor(loop: Loop, startAt: number, numbers: RequestNumbers, isTimed: boolean) {
    super(loop, startAt, numbers)
    this.isTimed = isTimed
  }
}

/** One tool call, from the message that requests it until the end of its turn. */
export class Call extends Tool<Loop> {
  approval: Approval | undefined
  /** The call was denied by the user, a rule or a callback. */
  isDenied = false
  /** Set if the call's batch ended before any hook reported the call's end. */
  batched: { readonly at: number; readonly response: unknown } | undefined
}

/** A model and its tools, from a prompt to the answer: a turn of the session, or the work of a child agent. */
export class Loop extends RecordedTurn {
  readonly session: Session
  promptId: string | undefined
  /** Emitted once the model is known. */
  prompt: { readonly at: number; readonly text: unknown } | undefined
  model: string | undefined
  /** The session's model, for a child without messages. */
  readonly assumedModel: string | undefined
  /** The time from which a request without any events may be running. */
  askedAt: number | undefined
  /** Attempts in order. Answered ones stay until later messages can no longer change them. */
  readonly open: Attempt[] = []
  /** Message ids of the latest emitted attempts: a late block of one begins no new attempt. */
  readonly told: string[] = []
  readonly requests: RequestCounter = new RequestCounter(this)
  reported: TokenUsage = NO_USAGE
  readonly calls: Set<Call> = new Set()
  stopped: { readonly at: number; readonly text: unknown } | undefined
  failure: string | undefined
  isInterrupted = false
  lastAt: number

  constructor(
    session: Session,
    ids: { readonly sessionId: string; readonly turnId: string },
    at: number,
    text: unknown,
  ) {
    super(session.records, ids.sessionId, ids.turnId)
    this.session = session
    this.prompt = { at, text }
    this.assumedModel = session.model
    this.askedAt = at
    this.lastAt = at
  }

  get usedModel(): string | undefined {
    return this.model ?? this.assumedModel
  }
}

/** A child agent; its loop is undefined when it is idle. */
export interface Child {
  readonly agentId: string
  loop: Loop | undefined
  readonly task: DelegatedTask
  readonly runs: number
  callId: string | undefined
  notified: { readonly at: number; readonly data: unknown } | undefined
  handedBack: { readonly at: number; readonly response: unknown; readonly hasFailed: boolean } | undefined
}

export class Session {
  readonly records: Records
  readonly id: string
  model: string | undefined
  isAnnounced = false
  turns = 0
  main: Loop | undefined
  /** A prompt whose turn begins with the next event, when the model is known. */
  prompt: { readonly at: number; readonly id: string | undefined; readonly text: unknown } | undefined
  /** `prompt_id` of the latest ended turn, whose late events begin no turn. */
  endedPromptId: string | undefined
  /** Hooks of the next turn, buffered while messages of the current turn are unread. */
  waiting: TimedEvent[] = []
  readonly calls: Map<string, Call> = new Map()
  readonly children: Map<string, Child> = new Map()
  compactions = 0
  readonly seen: Set<string> = new Set()
  /** The compaction whose usage is not known yet. */
  compaction: { readonly request: ModelRequest; endAt: number | undefined } | undefined
  /** Tokens emitted for requests since the last result. */
  counted: TokenUsage = NO_USAGE
  /** Tokens counted by the SDK and not emitted yet. If negative, more was emitted than the SDK has counted so far. */
  owed: TokenUsage = NO_USAGE

  constructor(records: Records, id: string) {
    this.records = records
    this.id = id
  }

  call(id: unknown): Call | undefined {
    return typeof id === 'string' ? this.calls.get(id) : undefined
  }

  /** Returns the call with this id, and creates it if there is none. */
  callOf(loop: Loop, id: string): Call {
    const known = this.calls.get(id)
    if (known !== undefined) return known
    const call = new Call(loop, id, undefined, loop.lastAt)
    this.calls.set(id, call)
    loop.calls.add(call)
    return call
  }
}
