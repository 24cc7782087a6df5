import type { Moment } from '../base/event-machine.ts'
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
