import type { Correlation, HookName, HookRecord } from '../../contract/index.ts'
import { hookRecord, type LoosePayload } from '../host-event.ts'

/** The records that follow from one event, in order. */
export class Records {
  #list: HookRecord[] = []

  add<Name extends HookName>(hook: Name, at: number, payload: LoosePayload<Name>, correlation?: Correlation): void {
    this.#list.push(hookRecord(hook, at, payload, correlation))
  }

  take(): HookRecord[] {
    const list = this.#list
    this.#list = []
    return list
  }
}
