import type { Approval } from '../base/approval.ts'
import type { Delegation } from '../base/delegation.ts'
import type { Moment } from '../base/event-machine.ts'
import type { Records } from '../base/records.ts'
import { ModelRequest, type Numbers, Requests } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import { Turn } from '../base/turn.ts'
import { NO_USAGE, type Usage } from '../base/usage.ts'

/** One attempt at a model request, from its start until it is told how it ended. */
export class Attempt extends ModelRequest {
  /** Undefined until the message that answers it is seen. */
  messageId: string | undefined
  model: string | undefined
  /** Content blocks, as the SDK sent them one by one. */
  readonly content: unknown[] = []
  tokens: Usage | undefined
  /** How much of `tokens` the session has counted. */
  counted: Usage = NO_USAGE
  /** The tokens are final: there is nothing to add. */
  isExact = false
  /** Start and end were said by the host, not worked out from what came before. */
  readonly isTimed: boolean
  stopReason: string | undefined
  endAt: number | undefined

  constructor(loop: Loop, startAt: number, numbers: Numbers, isTimed: boolean) {
    super(loop, startAt, numbers)
    this.isTimed = isTimed
  }
}

/** One tool call, from the message that asks for it until its turn is over. */
export class Call extends Tool<Loop> {
  approval: Approval | undefined
  /** Somebody said no. */
  isDenied = false
  /** It was in a batch that is over, and no hook had told its end. */
  batched: { readonly at: number; readonly response: unknown } | undefined
}

/** A model and its tools, from a prompt to the answer: a turn of the session, or the work of a child agent. */
export class Loop extends Turn {
  readonly session: Session
  promptId: string | undefined
  /** Told with the first sign of what model works on it. */
  prompt: { readonly at: number; readonly text: unknown } | undefined
  model: string | undefined
  /** The session's, for a child of which no message was seen. */
  readonly assumedModel: string | undefined
  /** Since when a request may be under way that nothing has been seen of yet. */
  askedAt: number | undefined
  /** In order; those that were answered wait for what may still be said of them. */
  readonly open: Attempt[] = []
  /** Message ids of the attempts that were told last: a late block of one begins no new attempt. */
  readonly told: string[] = []
  readonly requests: Requests = new Requests(this)
  reported: Usage = NO_USAGE
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

/** A child agent; its loop is undefined when it rests. */
export interface Child {
  readonly agentId: string
  loop: Loop | undefined
  readonly task: Delegation
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
  /** A prompt whose turn begins with the next event: by then the model is known. */
  prompt: { readonly at: number; readonly id: string | undefined; readonly text: unknown } | undefined
  /** `prompt_id` of the turn that ended last: what comes late for it begins nothing. */
  endedPromptId: string | undefined
  /** Hooks of the next turn, while the messages of this one are still on their way through the application. */
  waiting: Moment[] = []
  readonly calls: Map<string, Call> = new Map()
  readonly children: Map<string, Child> = new Map()
  compactions = 0
  /** `uuid` of messages. */
  readonly seen: Set<string> = new Set()
  /** One that is told when it is known what it used. */
  compaction: { readonly request: ModelRequest; endAt: number | undefined } | undefined
  /** Tokens told on requests since the last result. */
  counted: Usage = NO_USAGE
  /** Counted by the SDK and not told yet; below zero: told, and to be counted with a later result. */
  owed: Usage = NO_USAGE

  constructor(records: Records, id: string) {
    this.records = records
    this.id = id
  }

  call(id: unknown): Call | undefined {
    return typeof id === 'string' ? this.calls.get(id) : undefined
  }

  /** The call with this id; from now on there is one. */
  callOf(loop: Loop, id: string): Call {
    const known = this.calls.get(id)
    if (known !== undefined) return known
    const call = new Call(loop, id, undefined, loop.lastAt)
    this.calls.set(id, call)
    loop.calls.add(call)
    return call
  }
}
