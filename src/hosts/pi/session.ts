import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import type { PiCompaction } from './compaction.ts'
import { type Moment, modelOf, platformOf } from './moment.ts'
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
  #isStartTold = false
  #lastTurnAt = 0

  constructor(id: string) {
    this.id = id
  }

  /** Something of it has been told. */
  get hadTurns(): boolean {
    return this.#lastTurnAt !== 0
  }

  /**
   * A turn begins. Its id comes from the time, not from a count: a conversation that is resumed in another process must
   * not have the same ids again.
   */
  open({ at, context }: Moment): HookRecord[] {
    const openedAt = Math.max(Math.trunc(at), this.#lastTurnAt + 1)
    this.#lastTurnAt = openedAt
    this.turn = new PiTurn({ session_id: this.id, turn_id: `${this.id}:${openedAt}` }, at)
    if (this.#isStartTold || !this.isAnnounced) return []
    this.#isStartTold = true
    const { model, provider } = modelOf(context)
    return [hookRecord('on_session_start', at, { ...this.turn.ids, model, provider, platform: platformOf(context) })]
  }

  close(moment: Moment, isHostsWord: boolean): HookRecord[] {
    const records = this.turn?.close(moment, isHostsWord) ?? []
    this.turn = undefined
    return records
  }
}
