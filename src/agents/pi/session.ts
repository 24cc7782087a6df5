import { peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { RecordScope, type Records } from '../base/records.ts'
import { modelOf, platformOf } from './messages.ts'
import type { PiCompaction } from './requests.ts'
import { PiTurn } from './turn.ts'

export class PiSession {
  readonly id: string
  turn: PiTurn | undefined
  compaction: PiCompaction | undefined
  /** True while Pi repeats a request only to keep the provider's cache warm; its answer is not used. */
  isWarming = false
  /** `session_start` was received. It is emitted with the first turn, because a session without prompts is not traced. */
  isAnnounced = false
  readonly #records: Records
  #isStartEmitted = false
  #lastTurnAt = 0

  constructor(records: Records, id: string) {
    this.#records = records
    this.id = id
  }

  get hadTurns(): boolean {
    return this.#lastTurnAt !== 0
  }

  get scope(): RecordScope {
    return this.turn ?? new RecordScope(this.#records, this.id)
  }

  setWarming(isWarming: boolean): void {
    this.isWarming = isWarming
  }

  /** Begins a turn. Its id contains the time, not a counter: a conversation resumed in another process must not reuse ids. */
  openTurn({ at, context }: TimedEvent): PiTurn {
    const openedAt = Math.max(Math.trunc(at), this.#lastTurnAt + 1)
    this.#lastTurnAt = openedAt
    const turn = new PiTurn(this.#records, this.id, `${this.id}:${openedAt}`, at)
    this.turn = turn
    if (!this.#isStartEmitted && this.isAnnounced) {
      this.#isStartEmitted = true
      const { model, provider } = modelOf(context)
      const cwd = textOf(peek(context, 'cwd'))
      turn.emit('on_session_start', at, { model, provider, platform: platformOf(context), cwd })
    }
    return turn
  }

  closeTurn(moment: TimedEvent, isHostsWord: boolean): void {
    this.turn?.closeTurn(moment, isHostsWord)
    this.turn = undefined
  }

  removeCompaction(): PiCompaction | undefined {
    const { compaction } = this
    this.compaction = undefined
    return compaction
  }

  endAll(moment: TimedEvent): void {
    this.removeCompaction()?.failCompaction(moment)
    this.closeTurn(moment, false)
  }
}

const LEFT_LIMIT = 100

/** Joins consecutive sessions. Pi reports the end of the old one and the start of the new one separately. */
export class SessionChain {
  readonly #records: Records
  readonly #left = new LimitedMap<string, string>(LEFT_LIMIT)

  constructor(records: Records) {
    this.#records = records
  }

  addLeftSession(id: string, reason: string): void {
    this.#left.refresh(id, reason)
  }

  /**
   * @param reason why the old session was left
   * @param previousFile the old session's file, whose name contains its id; undefined if sessions are not saved
   */
  joinSession(id: string, at: number, reason: string | undefined, previousFile: string | undefined): void {
    const old = this.#predecessor(id, reason, previousFile)
    if (old === undefined) return
    this.#left.delete(old)
    const payload = { session_id: id, old_session_id: old, new_session_id: id, reason }
    this.#records.addRecord('on_session_reset', at, payload, previousFile === undefined ? 'inferred' : undefined)
  }

  #predecessor(id: string, reason: string | undefined, file: string | undefined): string | undefined {
    const fitting = [...this.#left].filter(([left, why]) => left !== id && why === reason).map(([left]) => left)
    if (file !== undefined) return fitting.find(left => file.includes(left))
    return fitting.length === 1 ? fitting[0] : undefined
  }
}
