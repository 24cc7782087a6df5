import type { Correlation } from '../../contract/index.ts'
import type { LoosePayload } from '../host-event.ts'
import type { RecordScope, Records } from './records.ts'

type Ids = Pick<
  LoosePayload<'subagent_stop'>,
  'parent_session_id' | 'parent_turn_id' | 'child_session_id' | 'child_subagent_id' | 'child_role' | 'tool_call_id'
>

export interface DelegatedTaskEnd {
  readonly status: string
  readonly summary?: unknown
  readonly durationMillis?: number | undefined
}

/** A task that one agent delegates to another, as seen by the delegating agent. Times are epoch milliseconds. */
export class DelegatedTask {
  readonly ids: Ids
  readonly startAt: number
  readonly #records: Records
  hasEnded = false

  constructor(parent: RecordScope, startAt: number, ids: Ids) {
    this.#records = parent.records
    this.startAt = startAt
    this.ids = { parent_session_id: parent.sessionId, parent_turn_id: parent.turnId, ...ids }
  }

  emitStart(goal: unknown, correlation?: Correlation): void {
    this.#records.addRecord('subagent_start', this.startAt, { ...this.ids, child_goal: goal }, correlation)
  }

  emitEnd(at: number, { status, summary, durationMillis }: DelegatedTaskEnd, correlation?: Correlation): void {
    if (this.hasEnded) return
    this.hasEnded = true
    const end = { child_status: status, child_summary: summary, duration_ms: durationMillis }
    this.#records.addRecord('subagent_stop', at, { ...this.ids, ...end }, correlation)
  }
}

/** A task for a child agent with a session of its own. @param at when the child began */
export function childTask(
  parent: RecordScope,
  at: number,
  { agentId, role, callId }: { readonly agentId: string; readonly role?: unknown; readonly callId: string | undefined },
): DelegatedTask {
  return new DelegatedTask(parent, at, {
    child_session_id: agentId,
    child_subagent_id: agentId,
    child_role: role,
    tool_call_id: callId,
  })
}
