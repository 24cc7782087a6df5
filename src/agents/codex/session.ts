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
const FOUND_LIMIT = 10_000

/** The end of a tool according to the rollout. */
export interface Verdict {
  /** When the line was written, epoch milliseconds. */
  readonly at: number
  readonly status: unknown
  readonly exitCode: number | undefined
  readonly ranAt: number | undefined
}

export class Call extends Tool<Loop> {
  approval: Approval | undefined
  verdict: Verdict | undefined
  /** Set if the model was notified that the call continues in the background. */
  wentOn: { readonly at: number; readonly result: unknown } | undefined
}

/** A model and its tools, from a prompt to the answer: a turn of the session, or of a child agent. */
export class Loop extends HostTurn {
  readonly session: Session
  /** Undefined in the session itself. */
  readonly agentId: string | undefined
  /** Epoch milliseconds. */
  readonly startAt: number
  /** Emitted with the first activity: earlier work, such as a compaction, does not belong to the prompt. */
  prompt: { readonly at: number; readonly text: unknown } | undefined
  model: string | undefined
  readonly requests: RequestCounter = new RequestCounter(this)
  open: ModelRequest | undefined
  readonly calls: LimitedMap<string, Call> = new LimitedMap(FOUND_LIMIT)
  task: DelegatedTask | undefined
  /** Start of the running compaction. */
  compaction: { readonly at: number } | undefined
  lastAt: number
  isOver = false

  constructor(session: Session, agentId: string | undefined, turnId: string, at: number) {
    super(session.records, agentId ?? session.id, turnId)
    this.session = session
    this.agentId = agentId
    this.startAt = at
    this.lastAt = at
    this.prompt = { at, text: undefined }
    this.model = session.model
  }

  /** Emits the start of the loop once. */
  tellPrompt(): void {
    if (this.prompt === undefined) return
    const { at, text } = this.prompt
    this.prompt = undefined
    const provider = this.session.provider
    this.emit('pre_llm_call', at, { user_message: text, model: this.model, provider, platform: PLATFORM })
  }

  /** Returns the call with this id, and creates it if there is none. */
  callOf(id: string, at: number): Call {
    const known = this.calls.get(id)
    if (known !== undefined) return known
    const call = new Call(this, id, undefined, at)
    call.requestId = this.open?.id ?? this.requests.lastId
    this.calls.set(id, call)
    return call
  }
}

export class Session {
  readonly records: Records
  readonly id: string
  model: string | undefined
  provider: string | undefined
  isAnnounced = false
  readonly loops: LimitedMap<string, Loop> = new LimitedMap(LOOPS_LIMIT)
  main: Loop | undefined
  /** Tasks of child agents that have not begun, by agent id. */
  readonly tasks: LimitedMap<string, DelegatedTask> = new LimitedMap(LOOPS_LIMIT)
  /** Calls that have started child agents. */
  readonly delegating: LimitedMap<string, true> = new LimitedMap(FOUND_LIMIT)
  /** A hook that is processed after the rollout has been read. */
  held: TimedEvent | undefined
  /** Ids of emitted findings: rollouts are read again when the receiver starts. */
  readonly #found: LimitedMap<string, true> = new LimitedMap(FOUND_LIMIT)

  constructor(records: Records, id: string) {
    this.records = records
    this.id = id
  }

  isNew(id: string): boolean {
    if (this.#found.has(id)) return false
    this.#found.set(id, true)
    return true
  }

  loop(agentId: string | undefined, turnId: string): Loop | undefined {
    return this.loops.get(keyOf(agentId, turnId))
  }

  add(loop: Loop): void {
    this.loops.set(keyOf(loop.agentId, loop.turnId ?? ''), loop)
  }
}

function keyOf(agentId: string | undefined, turnId: string): string {
  return `${agentId ?? ''}/${turnId}`
}
