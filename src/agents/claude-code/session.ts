import { textOf } from '../../contract/foreign.ts'
import type { Approval } from '../base/approval.ts'
import type { DelegatedTask } from '../base/delegation.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import { type ModelRequest, RequestCounter } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import { HostTurn } from '../base/turn.ts'
import type { UsageCounts } from '../base/usage.ts'

export interface Dialect {
  readonly platform: string
  readonly provider: string | undefined
  usageOf(said: unknown): UsageCounts | undefined
  /** Each tool runs after the answer that requested it. A tool that no transcript names therefore belongs to the last request. */
  readonly asksLast?: boolean
}

export const DELEGATING: ReadonlySet<unknown> = new Set(['Agent', 'Task', 'agent'])
const CHILDREN_LIMIT = 1000
const CALLS_LIMIT = 10_000

export class ClaudeCall extends Tool<ClaudeLoop> {
  approval: Approval | undefined
  /** Denied by a callback of the application. */
  isDenied = false
  /** The end according to the batch, until the transcript has a more precise one. */
  batchEnd: { readonly at: number; readonly result: unknown } | undefined
  /** When the results were sent to the model: the call had ended by then. */
  sentOnAt: number | undefined
}

export interface PendingToolRequest {
  readonly requestId: string
  readonly name: unknown
  readonly args: unknown
  readonly at: number
}

export interface LoopIds extends Pick<HostTurn, 'sessionId' | 'turnId'> {
  readonly promptId: string | undefined
}

const NOTIFICATION = '<task-notification>'

/** Claude Code reports the end of a background agent as a prompt. */
export function isNotification(prompt: unknown): boolean {
  return textOf(prompt)?.startsWith(NOTIFICATION) ?? false
}

/** A model and its tools, from a prompt to the answer: a turn of the session, or the work of a child agent. Times are epoch ms. */
export class ClaudeLoop extends HostTurn {
  readonly session: ClaudeSession
  /** All prompt ids of the turn: prompts that wait together are answered together. */
  readonly promptIds: Set<string | undefined>
  readonly isNotified: boolean
  readonly startAt: number
  /** Emitted once the model is known, which no hook reports for a first prompt. */
  prompt: { readonly text: unknown; readonly traceparent?: string | undefined } | undefined
  model: string | undefined
  readonly requests: RequestCounter = new RequestCounter(this)
  open: ModelRequest | undefined
  readonly calls: Set<ClaudeCall> = new Set()
  lastAt: number
  answeredAt = 0
  hasEnded = false
  isInterrupted = false

  constructor(session: ClaudeSession, ids: LoopIds, at: number, text: unknown) {
    super(session.records, ids.sessionId, ids.turnId)
    this.session = session
    this.promptIds = new Set([ids.promptId])
    this.isNotified = isNotification(text)
    this.startAt = at
    this.lastAt = at
    this.prompt = { text }
    this.model = session.model
  }

  get isUntouched(): boolean {
    return this.requests.count === 0 && this.calls.size === 0
  }

  get provider(): string | undefined {
    return this.session.dialect.provider ?? this.session.provider
  }

  beforeTool(_call: ClaudeCall, _at: number): void {
    this.emitPrompt()
  }

  /** Emits the start of the loop once. @param model the model, if it is newly known */
  emitPrompt(model?: string | undefined): void {
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
    this.emit('pre_llm_call', this.startAt, facts)
  }
}

export interface ClaudeChild {
  readonly agentId: string
  loop: ClaudeLoop
  task: DelegatedTask
  callId: string | undefined
  runs: number
}

export class ClaudeSession {
  readonly records: Records
  readonly id: string
  readonly dialect: Dialect
  provider: string | undefined
  /** The model of the last answer, or the agent's initial model. */
  model: string | undefined
  /** W3C `traceparent` of the span in which the agent's process was started. */
  callerTraceparent: string | undefined
  isAnnounced = false
  turns = 0
  main: ClaudeLoop | undefined
  previous: ClaudeLoop | undefined
  /** A hook that is processed after the files have been read. */
  heldHook: TimedEvent | undefined
  compactions = 0
  compaction: ModelRequest | undefined
  readonly children: LimitedMap<string, ClaudeChild> = new LimitedMap(CHILDREN_LIMIT)
  readonly callOfAgent: LimitedMap<string, string> = new LimitedMap(CHILDREN_LIMIT)
  readonly calls: LimitedMap<string, ClaudeCall> = new LimitedMap(CALLS_LIMIT)
  readonly requestedCalls: LimitedMap<string, PendingToolRequest> = new LimitedMap(CALLS_LIMIT)
  /** Ids of emitted answers and failures: files are read again when a receiver starts. */
  readonly emittedIds: LimitedMap<string, true> = new LimitedMap(CALLS_LIMIT)

  constructor(records: Records, id: string, dialect: Dialect) {
    this.records = records
    this.id = id
    this.dialect = dialect
  }

  createLoop(ids: LoopIds, at: number, text: unknown): ClaudeLoop {
    return new ClaudeLoop(this, ids, at, text)
  }

  isNew(id: string): boolean {
    if (this.emittedIds.has(id)) return false
    this.emittedIds.set(id, true)
    return true
  }

  /** Returns the call with this id, and creates it if there is none. */
  callOf(loop: ClaudeLoop, id: string, at: number): ClaudeCall {
    const known = this.calls.get(id)
    if (known !== undefined) return known
    const asked = this.requestedCalls.get(id)
    const call = new ClaudeCall(loop, id, textOf(asked?.name), asked?.at ?? at)
    const last = this.dialect.asksLast === true ? loop.requests.lastId : undefined
    call.args = asked?.args
    call.requestId = asked?.requestId ?? loop.open?.id ?? last
    this.requestedCalls.delete(id)
    this.calls.set(id, call)
    loop.calls.add(call)
    return call
  }
}
