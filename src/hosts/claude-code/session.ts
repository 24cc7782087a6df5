import { textOf } from '../../contract/foreign.ts'
import type { Approval } from '../base/approval.ts'
import type { Delegation } from '../base/delegation.ts'
import type { Moment } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import { type ModelRequest, Requests } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import { Turn } from '../base/turn.ts'
import type { Usage } from '../base/usage.ts'

/** An agent that speaks to its hooks as Claude Code does. */
export interface Dialect {
  readonly platform: string
  /** Undefined where each answer says it. */
  readonly provider: string | undefined
  /** How its transcripts count tokens. */
  usageOf(said: unknown): Usage | undefined
  /** Each tool runs behind the answer that asked for it: of one that no transcript names, that is the last. */
  readonly asksLast?: boolean
}

const CHILDREN_LIMIT = 1000
const CALLS_LIMIT = 10_000

export class Call extends Tool<Loop> {
  approval: Approval | undefined
  /** What its batch says of its end, until the transcript says more. */
  batchEnd: { readonly at: number; readonly result: unknown } | undefined
  /** When the model was sent the results: the call was over by then. */
  sentOnAt: number | undefined
}

/** A tool call in an answer of the model. */
export interface AskedCall {
  readonly requestId: string
  readonly name: unknown
  readonly args: unknown
  /** The end of the answer. */
  readonly at: number
}

interface LoopIds extends Pick<Turn, 'sessionId' | 'turnId'> {
  readonly promptId: string | undefined
}

const NOTIFICATION = '<task-notification>'

/** Claude Code makes a prompt of the end of a background agent. */
export function isNotification(prompt: unknown): boolean {
  return textOf(prompt)?.startsWith(NOTIFICATION) ?? false
}

/** A model and its tools, from a prompt to the answer: a turn of the session, or the work of a child agent. */
export class Loop extends Turn {
  readonly session: Session
  /** Each `prompt_id` of the turn: prompts that wait together are answered together. */
  readonly promptIds: Set<string | undefined>
  /** Its prompt reports the end of a background agent. */
  readonly isNotified: boolean
  /** Epoch milliseconds. */
  readonly startAt: number
  /** Told when the model is known, which no hook says of a first prompt. */
  prompt: { readonly text: unknown; readonly traceparent?: string | undefined } | undefined
  model: string | undefined
  readonly requests: Requests = new Requests(this)
  /** The one that waits for its answer. */
  open: ModelRequest | undefined
  /** Those that are not over. */
  readonly calls: Set<Call> = new Set()
  lastAt: number
  /** The end of the last answer. */
  answeredAt = 0
  isOver = false

  constructor(session: Session, ids: LoopIds, at: number, text: unknown) {
    super(session.records, ids.sessionId, ids.turnId)
    this.session = session
    this.promptIds = new Set([ids.promptId])
    this.isNotified = isNotification(text)
    this.startAt = at
    this.lastAt = at
    this.prompt = { text }
    this.model = session.model
  }

  /** Nothing was done yet. */
  get isUntouched(): boolean {
    return this.requests.count === 0 && this.calls.size === 0
  }

  get provider(): string | undefined {
    return this.session.dialect.provider ?? this.session.provider
  }

  /** The start of the loop, once; `model` where it has just been heard of. */
  tellPrompt(model?: string | undefined): void {
    this.model = model ?? this.model
    if (this.prompt === undefined) return
    const { text, traceparent } = this.prompt
    this.prompt = undefined
    const facts = {
      user_message: text,
      model: this.model,
      provider: this.provider,
      platform: this.session.dialect.platform,
      traceparent,
    }
    this.tell('pre_llm_call', this.startAt, facts)
  }
}

/** A child agent, also when it rests. */
export interface Child {
  readonly agentId: string
  loop: Loop
  task: Delegation
  callId: string | undefined
  runs: number
}

export class Session {
  readonly records: Records
  readonly id: string
  readonly dialect: Dialect
  /** That has answered last, where answers say it. */
  provider: string | undefined
  /** The one that answered last, or that the agent says it begins with. */
  model: string | undefined
  /** The span that its process was started in: W3C `traceparent`. */
  caller: string | undefined
  isAnnounced = false
  turns = 0
  main: Loop | undefined
  /** The turn before: what comes late is its. */
  last: Loop | undefined
  /** A hook that is taken when the files have been read. */
  held: Moment | undefined
  compactions = 0
  compaction: ModelRequest | undefined
  readonly children: LimitedMap<string, Child> = new LimitedMap(CHILDREN_LIMIT)
  /** By agent: the tool call that it belongs to. */
  readonly callOfAgent: LimitedMap<string, string> = new LimitedMap(CHILDREN_LIMIT)
  readonly calls: LimitedMap<string, Call> = new LimitedMap(CALLS_LIMIT)
  /** Of answers, by id. */
  readonly asked: LimitedMap<string, AskedCall> = new LimitedMap(CALLS_LIMIT)
  /** Answers and failures that were told: files are read again when a receiver starts. */
  readonly found: LimitedMap<string, true> = new LimitedMap(CALLS_LIMIT)

  constructor(records: Records, id: string, dialect: Dialect) {
    this.records = records
    this.id = id
    this.dialect = dialect
  }

  isNew(id: string): boolean {
    if (this.found.has(id)) return false
    this.found.set(id, true)
    return true
  }

  /** The call with this id; from now on there is one. */
  callOf(loop: Loop, id: string, at: number): Call {
    const known = this.calls.get(id)
    if (known !== undefined) return known
    const asked = this.asked.get(id)
    const call = new Call(loop, id, textOf(asked?.name), asked?.at ?? at)
    const last = this.dialect.asksLast === true ? loop.requests.lastId : undefined
    call.args = asked?.args
    call.requestId = asked?.requestId ?? loop.open?.id ?? last
    // Its input may be large.
    this.asked.delete(id)
    this.calls.set(id, call)
    loop.calls.add(call)
    return call
  }
}
