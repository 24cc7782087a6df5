import type { Approval } from '../base/approval.ts'
import type { DelegatedTask } from '../base/delegation.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import { type ModelRequest, RequestCounter } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import { HostTurn } from '../base/turn.ts'

export const PLATFORM = 'codex'

const LOOPS_LIMIT = 1000
const CALLS_LIMIT = 10_000

export interface RecordedToolEnd {
  readonly at: number
  readonly status: unknown
  readonly exitCode: number | undefined
  readonly ranAt: number | undefined
}

export class CodexCall extends Tool<CodexLoop> {
  approval: Approval | undefined
  recordedEnd: RecordedToolEnd | undefined
  backgroundNotice: { readonly at: number; readonly result: unknown } | undefined
}

/** A model and its tools, from a prompt to the answer: a turn of the session, or of a child agent. */
export class CodexLoop extends HostTurn {
  readonly session: CodexSession
  readonly agentId: string | undefined
  readonly startAt: number
  /** Emitted with the first activity: earlier work, such as a compaction, does not belong to the prompt. */
  prompt: { readonly at: number; readonly text: unknown } | undefined
  model: string | undefined
  readonly requests: RequestCounter = new RequestCounter(this)
  pendingRequest: ModelRequest | undefined
  readonly calls: LimitedMap<string, CodexCall> = new LimitedMap(CALLS_LIMIT)
  task: DelegatedTask | undefined
  compaction: { readonly at: number } | undefined
  lastAt: number
  hasEnded = false

  constructor(session: CodexSession, agentId: string | undefined, turnId: string, at: number) {
    super(session.records, agentId ?? session.id, turnId)
    this.session = session
    this.agentId = agentId
    this.startAt = at
    this.lastAt = at
    this.prompt = { at, text: undefined }
    this.model = session.model
  }

  emitPrompt(): void {
    if (this.prompt === undefined) return
    const { at, text } = this.prompt
    this.prompt = undefined
    const provider = this.session.provider
    this.emit('pre_llm_call', at, { user_message: text, model: this.model, provider, platform: PLATFORM })
  }

  callOf(id: string, at: number): CodexCall {
    const known = this.calls.get(id)
    if (known !== undefined) return known
    const call = new CodexCall(this, id, undefined, at)
    call.requestId = this.pendingRequest?.id ?? this.requests.lastId
    this.calls.set(id, call)
    return call
  }
}

export class CodexSession {
  readonly records: Records
  readonly id: string
  model: string | undefined
  provider: string | undefined
  isAnnounced = false
  readonly loops: LimitedMap<string, CodexLoop> = new LimitedMap(LOOPS_LIMIT)
  main: CodexLoop | undefined
  /** Tasks of child agents that have not begun, by agent id. */
  readonly tasks: LimitedMap<string, DelegatedTask> = new LimitedMap(LOOPS_LIMIT)
  readonly delegatingCalls: LimitedMap<string, true> = new LimitedMap(CALLS_LIMIT)
  bufferedHook: TimedEvent | undefined
  /** Ids of emitted findings: rollouts are read again when the receiver starts. */
  readonly #emittedIds: LimitedMap<string, true> = new LimitedMap(CALLS_LIMIT)

  constructor(records: Records, id: string) {
    this.records = records
    this.id = id
  }

  isNew(id: string): boolean {
    if (this.#emittedIds.has(id)) return false
    this.#emittedIds.set(id, true)
    return true
  }

  findLoop(agentId: string | undefined, turnId: string): CodexLoop | undefined {
    return this.loops.get(loopKey(agentId, turnId))
  }

  addLoop(loop: CodexLoop): void {
    this.loops.set(loopKey(loop.agentId, loop.turnId ?? ''), loop)
  }
}

function loopKey(agentId: string | undefined, turnId: string): string {
  return `${agentId ?? ''}/${turnId}`
}
