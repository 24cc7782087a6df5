import type { Approval } from '../base/approval.ts'
import type { DelegatedTask } from '../base/delegation.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import { type ModelRequest, RequestCounter } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import { HostTurn, type TurnResult } from '../base/turn.ts'

export const PLATFORM = 'copilot'

const AGENTS_LIMIT = 1000
const CALLS_LIMIT = 10_000
const LINES_LIMIT = 10_000

export class CopilotCall extends Tool<CopilotLoop> {
  approval: Approval | undefined
}

/** An answer with known usage, whose text is in a later line. */
export interface OpenAnswer {
  readonly request: ModelRequest
  readonly at: number
  readonly usage: unknown
}

/** A failed attempt. `status` is known only for the last one of a turn. */
export interface FailedAttempt {
  readonly at: number
  readonly type: string | undefined
  readonly message: unknown
  readonly status?: number | undefined
}

/** A turn of the session, or of a child agent: from a prompt to the answer. */
export class CopilotLoop extends HostTurn {
  readonly session: RecordedSession
  readonly agentId: string | undefined
  readonly startAt: number
  lastAt: number
  model: string | undefined
  readonly requests: RequestCounter = new RequestCounter(this)
  readonly calls: LimitedMap<string, CopilotCall> = new LimitedMap(CALLS_LIMIT)
  askedAt: number
  openAnswer: OpenAnswer | undefined
  failedAttempt: FailedAttempt | undefined
  hasGivenUp = false
  compaction: ModelRequest | undefined
  answer: string | undefined
  hasEnded = false

  constructor(session: RecordedSession, agentId: string | undefined, turnId: string, at: number) {
    super(session.records, agentId ?? session.id, turnId)
    this.session = session
    this.agentId = agentId
    this.startAt = at
    this.lastAt = at
    this.askedAt = at
    this.model = session.model
  }

  callOf(id: string, at: number): CopilotCall {
    const known = this.calls.get(id)
    if (known !== undefined) return known
    const call = new CopilotCall(this, id, undefined, at)
    call.requestId = this.requests.lastId
    this.calls.set(id, call)
    return call
  }
}

/** A session whose file is read. All facts come from the file; hooks only trigger reading it. */
export class RecordedSession {
  readonly records: Records
  readonly id: string
  /** When the first hook of the session fired. Earlier turns are history. 0 if that hook was not the first of a turn. */
  readonly since: number
  model: string | undefined
  isAnnounced = false
  /** The open turn of the session (key ''), and of each child agent. */
  readonly loops: LimitedMap<string, CopilotLoop> = new LimitedMap(AGENTS_LIMIT)
  readonly tasks: LimitedMap<string, DelegatedTask> = new LimitedMap(AGENTS_LIMIT)
  notice: { readonly at: number; readonly text: unknown } | undefined
  readonly #lines: LimitedMap<string, true> = new LimitedMap(LINES_LIMIT)
  readonly #interactions: LimitedMap<string, number> = new LimitedMap(AGENTS_LIMIT)

  constructor(records: Records, id: string, since: number) {
    this.records = records
    this.id = id
    this.since = since
  }

  isNew(lineId: string | undefined): boolean {
    if (lineId === undefined) return true
    if (this.#lines.has(lineId)) return false
    this.#lines.set(lineId, true)
    return true
  }

  findLoop(agentId: string | undefined): CopilotLoop | undefined {
    return this.loops.get(agentId ?? '')
  }

  /** Builds a unique turn id: a turn that answers a notification has the interaction of the previous turn. */
  uniqueTurnId(interaction: string): string {
    const count = (this.#interactions.get(interaction) ?? 0) + 1
    this.#interactions.set(interaction, count)
    return count === 1 ? interaction : `${interaction}:${count}`
  }

  findCall(id: string): CopilotCall | undefined {
    for (const loop of this.loops.values()) {
      const call = loop.calls.get(id)
      if (call !== undefined) return call
    }
    return undefined
  }
}

export interface CopilotLoopEnd {
  readonly outcome: TurnResult
  readonly reason?: string | undefined
}
