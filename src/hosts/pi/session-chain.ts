import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'

/** Sessions that were left, and whose follower has not been told. */
const LEFT_LIMIT = 100

/** Which session took the place of which. Pi tells the two halves apart: the old one goes, then the new one comes. */
export class SessionChain {
  readonly #records: Records
  readonly #left = new LimitedMap<string, string>(LEFT_LIMIT)

  constructor(records: Records) {
    this.#records = records
  }

  left(id: string, reason: string): void {
    this.#left.delete(id)
    this.#left.set(id, reason)
  }

  /**
   * @param reason for which the old session was left
   * @param previousFile the old session's, which has its id in its name; sessions that are not kept have none
   */
  joined(id: string, at: number, reason: string | undefined, previousFile: string | undefined): void {
    const old = this.#predecessor(id, reason, previousFile)
    if (old === undefined) return
    this.#left.delete(old)
    const payload = { session_id: id, old_session_id: old, new_session_id: id, reason }
    this.#records.add('on_session_reset', at, payload, previousFile === undefined ? 'inferred' : undefined)
  }

  #predecessor(id: string, reason: string | undefined, file: string | undefined): string | undefined {
    const fitting = [...this.#left].filter(([left, why]) => left !== id && why === reason).map(([left]) => left)
    if (file !== undefined) return fitting.find(left => file.includes(left))
    return fitting.length === 1 ? fitting[0] : undefined
  }
}
