import type { HookName, HookPayloads } from '../../contract/index.ts'
import type { ReadRecord } from '../raw-events.ts'

type Telling<Name extends HookName = HookName> = { [N in Name]: readonly [N, HookPayloads[N]] }[Name]

/** Collects hook records in tree order and sorts them by time. At the same instant, starts come first. */
export class Retelling {
  readonly #starts: ReadRecord[] = []
  readonly #ends: ReadRecord[] = []

  /** @param at epoch milliseconds */
  begins(at: number, ...[hook, payload]: Telling): void {
    this.#starts.push({ hook, payload, meta: { at } })
  }

  /** Ends at the same instant keep the order of these calls, so call it for inner ones first. */
  ends(at: number, ...[hook, payload]: Telling): void {
    this.#ends.push({ hook, payload, meta: { at } })
  }

  records(): readonly ReadRecord[] {
    return [...this.#starts, ...this.#ends].sort((a, b) => (a.meta.at ?? 0) - (b.meta.at ?? 0))
  }

  /** Like `records()`, for a caller that adds outer ends before inner ones. */
  recordsOutsideIn(): readonly ReadRecord[] {
    this.#ends.reverse()
    return this.records()
  }
}
