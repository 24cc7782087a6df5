import type { Moment } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { type Records, Scope } from '../base/records.ts'
import type { PiCompaction } from './compaction.ts'
import { modelOf, platformOf } from './context.ts'
import { PiTurn } from './turn.ts'

/** One conversation. */
export class PiSession {
  readonly id: string
  turn: PiTurn | undefined
  compaction: PiCompaction | undefined
  /** Pi is about to send a request again only to keep the cache of its model provider warm; nobody waits for an answer. */
  isWarming = false
  /** `session_start` was seen. It is told with the first turn: a session in which nobody asks anything is no trace. */
  isAnnounced = false
  readonly #records: Records
  #isStartTold = false
  #lastTurnAt = 0

  constructor(records: Records, id: string) {
    this.#records = records
    this.id = id
  }

  /** Something of it has been told. */
  get hadTurns(): boolean {
    return this.#lastTurnAt !== 0
  }

  /** What is done now belongs to. */
  get scope(): Scope {
    return this.turn ?? new Scope(this.#records, this.id)
  }

  warms(isWarming: boolean): void {
    this.isWarming = isWarming
  }

  /**
   * A turn begins. Its id comes from the time, not from a count: a conversation that is resumed in another process must
   * not have the same ids again.
   */
  open({ at, context }: Moment): PiTurn {
    const openedAt = Math.max(Math.trunc(at), this.#lastTurnAt + 1)
    this.#lastTurnAt = openedAt
    const turn = new PiTurn(this.#records, this.id, `${this.id}:${openedAt}`, at)
    this.turn = turn
    if (!this.#isStartTold && this.isAnnounced) {
      this.#isStartTold = true
      const { model, provider } = modelOf(context)
      turn.tell('on_session_start', at, { model, provider, platform: platformOf(context) })
    }
    return turn
  }

  close(moment: Moment, isHostsWord: boolean): void {
    this.turn?.close(moment, isHostsWord)
    this.turn = undefined
  }

  takeCompaction(): PiCompaction | undefined {
    const { compaction } = this
    this.compaction = undefined
    return compaction
  }

  endAll(moment: Moment): void {
    this.takeCompaction()?.failed(moment)
    this.close(moment, false)
  }
}

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
