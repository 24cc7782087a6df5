import type { Correlation, HookName, HookRecord } from '../../contract/index.ts'
import { hookRecord, type LoosePayload } from '../host-event.ts'

const NONE: readonly HookRecord[] = Object.freeze([])

export class Records {
  #pending: HookRecord[] = []

  addRecord<Name extends HookName>(
    hook: Name,
    at: number,
    payload: LoosePayload<Name>,
    correlation?: Correlation,
  ): void {
    this.#pending.push(hookRecord(hook, at, payload, correlation))
  }

  drain(): readonly HookRecord[] {
    if (this.#pending.length === 0) return NONE
    const pending = this.#pending
    this.#pending = []
    return pending
  }
}

export class RecordScope {
  readonly records: Records
  readonly sessionId: string | undefined
  readonly turnId: string | undefined

  constructor(records: Records, sessionId: string | undefined, turnId?: string) {
    this.records = records
    this.sessionId = sessionId
    this.turnId = turnId
  }

  /**
   * Adds one record with the ids of this scope.
   *
   * @param at epoch milliseconds
   * @param payload a new object: the ids are set on it, which is cheaper than a copy
   */
  emit<Name extends HookName>(hook: Name, at: number, payload: LoosePayload<Name>, correlation?: Correlation): void {
    const whole = payload as { session_id?: string | undefined; turn_id?: string | undefined }
    whole.session_id = this.sessionId
    if (this.turnId !== undefined) whole.turn_id = this.turnId
    this.records.addRecord(hook, at, payload, correlation)
  }
}

export type TurnResult = 'completed' | 'failed' | 'interrupted'
