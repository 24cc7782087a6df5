import type { Correlation } from '../../contract/index.ts'
import type { LoosePayload } from '../host-event.ts'
import type { Records } from './records.ts'

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

  constructor(records: Records, startAt: number, ids: Ids) {
    this.#records = records
    this.startAt = startAt
    this.ids = ids
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
