import { AgentLoop, AgentSession } from '../base/agent-loop.ts'
import type { DelegatedTask } from '../base/delegation.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import type { ModelRequest } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import type { TurnResult } from '../base/turn.ts'

export const PLATFORM = 'copilot'

const AGENTS_LIMIT = 1000
const CALLS_LIMIT = 10_000

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

export class CopilotLoop extends AgentLoop<RecordedSession> {
  readonly calls: LimitedMap<string, Tool<CopilotLoop>> = new LimitedMap(CALLS_LIMIT)
  askedAt: number = this.startAt
  openAnswer: OpenAnswer | undefined
  failedAttempt: FailedAttempt | undefined
  hasGivenUp = false
  compaction: ModelRequest | undefined
  answer: string | undefined

  callOf(id: string, at: number): Tool<CopilotLoop> {
    const known = this.calls.get(id)
    if (known !== undefined) return known
    const call = new Tool<CopilotLoop>(this, id, undefined, at)
    call.requestId = this.requests.lastId
    this.calls.set(id, call)
    return call
  }
}

/** A session whose file is read. All facts come from the file; hooks only trigger reading it. */
export class RecordedSession extends AgentSession {
  /** When the first hook of the session fired. Earlier turns are history. 0 if that hook was not the first of a turn. */
  readonly since: number
  /** The open turn of the session (key ''), and of each child agent. */
  readonly loops: LimitedMap<string, CopilotLoop> = new LimitedMap(AGENTS_LIMIT)
  readonly tasks: LimitedMap<string, DelegatedTask> = new LimitedMap(AGENTS_LIMIT)
  notice: { readonly at: number; readonly text: unknown } | undefined
  readonly #interactions: LimitedMap<string, number> = new LimitedMap(AGENTS_LIMIT)

  constructor(records: Records, id: string, since: number) {
    super(records, id, PLATFORM)
    this.since = since
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

  findCall(id: string): Tool<CopilotLoop> | undefined {
    for (const loop of this.loops.values()) {
      const call = loop.calls.get(id)
      if (call !== undefined) return call
    }
    return undefined
  }
}

/** The outcome of a turn that a session's end interrupts, by the reason of that end. */
export function outcomeOf(reason: string): TurnResult {
  if (reason === 'complete') return 'completed'
  return reason === 'error' || reason === 'timeout' ? 'failed' : 'interrupted'
}
