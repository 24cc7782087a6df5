import type { Correlation } from '../../contract/index.ts'
import type { LoosePayload } from '../host-event.ts'
import type { Records } from './records.ts'

type Ids = Pick<
  LoosePayload<'subagent_stop'>,
  'parent_session_id' | 'parent_turn_id' | 'child_session_id' | 'child_subagent_id' | 'child_role' | 'tool_call_id'
>

/** A task that one agent gives to another, as the one that gives it sees it. */
export class Delegation {
  readonly ids: Ids
  readonly #records: Records
  isOver = false

  constructor(records: Records, ids: Ids) {
    this.#records = records
    this.ids = ids
  }

  tellStart(at: number, goal: unknown, correlation?: Correlation): void {
    this.#records.add('subagent_start', at, { ...this.ids, child_goal: goal }, correlation)
  }

  /** Once, however often it is called. */
  tellEnd(
    at: number,
    { status, summary, durationMillis }: { status: string; summary?: unknown; durationMillis?: number | undefined },
    correlation?: Correlation,
  ): void {
    if (this.isOver) return
    this.isOver = true
    const end = { child_status: status, child_summary: summary, duration_ms: durationMillis }
    this.#records.add('subagent_stop', at, { ...this.ids, ...end }, correlation)
  }
}
