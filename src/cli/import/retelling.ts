import type { HookName, HookPayloads } from '../../contract/index.ts'
import type { ReadRecord } from '../raw-events.ts'

/** What is told of something: when, by which hook, with what. */
type Telling<Name extends HookName = HookName> = { [N in Name]: readonly [N, HookPayloads[N]] }[Name]

/** Hook records that are found in the order of a tree, and told in that of time: of one instant what begins comes first. */
export class Retelling {
  readonly #starts: ReadRecord[] = []
  readonly #ends: ReadRecord[] = []

  /** @param at epoch milliseconds */
  begins(at: number, ...[hook, payload]: Telling): void {
    this.#starts.push({ hook, payload, meta: { at } })
  }

  /** Of one instant, they are told in the order in which they are said here: inner ones before outer ones. */
  ends(at: number, ...[hook, payload]: Telling): void {
    this.#ends.push({ hook, payload, meta: { at } })
  }

  records(): readonly ReadRecord[] {
    return [...this.#starts, ...this.#ends].sort((a, b) => (a.meta.at ?? 0) - (b.meta.at ?? 0))
  }

  /** For who says ends where things begin, the outer before the inner. */
  recordsOutsideIn(): readonly ReadRecord[] {
    this.#ends.reverse()
    return this.records()
  }
}
