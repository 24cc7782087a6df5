import type { CoreParts } from './parts.ts'
import type { OpenSpan, Turn } from './turn.ts'
import { isIdle } from './turn-outcome.ts'

/** Ends what has been silent for too long. */
export class Silence {
  readonly #parts: CoreParts

  constructor(parts: CoreParts) {
    this.#parts = parts
  }

  /** By the time of a record. */
  endAt(at: number): void {
    const { turnSweep, backgroundSweep, spanSweep, registry, options } = this.#parts
    this.#end(turnSweep.dueAt(at), backgroundSweep.dueAt(at), spanSweep.dueAt(at))
    registry.forgetEndedBefore(at - options.rootSpanTtlMillis)
  }

  /** By the clock of this process. */
  endSeen(now: number): void {
    const { turnSweep, backgroundSweep, spanSweep } = this.#parts
    this.#end(turnSweep.dueSeen(now), backgroundSweep.dueSeen(now), spanSweep.dueSeen(now))
  }

  #end(turns: readonly Turn[], background: readonly Turn[], spans: readonly OpenSpan[]): void {
    const { lifecycle, onTurnEnd } = this.#parts
    for (const turn of turns) {
      lifecycle.finish(turn, {
        at: turn.activityAt,
        finalStatus: 'timed_out',
        descendants: 'orphaned',
        root: 'orphaned',
      })
      onTurnEnd()
    }
    for (const turn of background) {
      // What waits for something is heard of again when that comes; a side call may be that of a turn that begins later.
      if (!isIdle(turn) || turn.totals.apiCalls === 0) continue
      lifecycle.finish(turn, { at: turn.activityAt, finalStatus: 'completed', descendants: 'turn_ended' })
      onTurnEnd()
    }
    for (const open of spans) {
      this.#parts.abandon(open, 'orphaned', open.activityAt)
      lifecycle.closeWhenEmpty(open.turn)
    }
  }
}
