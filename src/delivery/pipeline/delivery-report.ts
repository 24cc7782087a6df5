import type { DeliveryFailure } from './delivery.ts'
import type { Signal } from './endpoint.ts'
import { type BackendFacts, describeFailure, failureClass, WRONG_PATH } from './failure-message.ts'
import type { Report } from './settings.ts'

/** If a backend fails and recovers repeatedly, each cause is reported at most this often. */
const REPEAT_AFTER_MILLIS = 60_000
const OVERFLOW = 'overflow'
const TOO_LATE = 'too late'

interface Streak {
  lost: number
  isSaid: boolean
}

/** Reports the delivery state of one backend to the user: each cause once at its onset, and once the cost when it is over. */
export class DeliveryReport {
  readonly #facts: BackendFacts
  readonly #report: Report
  /** Signals that are failing now. */
  readonly #streaks = new Map<Signal, Streak>()
  /** Causes already reported, until everything is delivered again. */
  readonly #said = new Set<string>()
  readonly #saidAt = new Map<string, number>()
  #overflowed = 0
  lastError: string | undefined

  constructor(facts: BackendFacts, report: Report) {
    this.#facts = facts
    this.#report = report
  }

  get name(): string {
    return this.#facts.name
  }

  /** @param lost spans or log events that did not arrive, if known */
  failed(signal: Signal, failure: DeliveryFailure, lost: number): void {
    const line = describeFailure(this.#facts, signal, failure)
    this.lastError = line
    this.#report.debug(`${line} [${lost} lost]`)
    const isSaid = this.#sayFailure(signal, failureClass(failure), line)
    // The backend accepts other spans, so it is not failing.
    if (failure.kind === 'rejected' || failure.kind === 'refused') return
    const streak = this.#streaks.get(signal) ?? { lost: 0, isSaid: false }
    this.#streaks.set(signal, streak)
    streak.lost += lost
    streak.isSaid ||= isSaid
  }

  delivered(signal: Signal): void {
    const streak = this.#streaks.get(signal)
    if (!streak) return
    this.#streaks.delete(signal)
    // An overflow ends only when the queue is empty: see `drained`.
    if (this.#streaks.size === 0) for (const cause of this.#said) if (cause !== OVERFLOW) this.#said.delete(cause)
    if (!streak.isSaid) return
    this.#report.warn(this.#over(signal, streak.lost))
  }

  #over(signal: Signal, lost: number): string {
    const { name, type, isKept } = this.#facts
    if (type === 'local_log') return `trace log: it is written again; ${missing(lost)}`
    if (type === 'kept_log') return keptAgain(lost)
    const again = `backend ${name}: ${signal} arrive again`
    if (signal === 'logs' && lost > 0) return `${again}; ${count(lost, 'event was', 'events were')} lost`
    if (signal !== 'traces') return again
    if (lost > 0) return `${again}; ${count(lost, 'span was', 'spans were')} lost`
    return isKept ? `${again}; what was kept for it is sent now` : again
  }

  /** @param lost spans dropped because the queue is full */
  overflowed(waiting: number, lost: number): void {
    const isFirst = this.#overflowed === 0
    this.#overflowed += lost
    if (!isFirst) return
    this.#sayOnce(
      OVERFLOW,
      `backend ${this.#facts.name}: ${waiting} spans are waiting for it, and further ones are dropped until it has caught up; raise span_batch_max_queue_size if that happens often`,
    )
  }

  /** @param lost spans held only in memory that were not delivered when the process ended */
  tooLate(lost: number): void {
    const { name, isKept } = this.#facts
    const advice = isKept ? '' : '; local_log: true keeps them for later, a longer force_flush_wait_ms sends more'
    this.#sayOnce(
      TOO_LATE,
      `backend ${name}: ${count(lost, 'span was', 'spans were')} lost, because the process ended before it took them${advice}`,
    )
  }

  /** Reports the cost of a failure that lasts until the process ends, if no backend has got the spans. */
  ended(): void {
    const lost = this.#streaks.get('traces')?.lost ?? 0
    this.#streaks.clear()
    if (this.#facts.isOnly && lost > 0) this.#report.warn(`trace log: ${missing(lost)}`)
  }

  drained(): void {
    if (this.#overflowed === 0) return
    const dropped = count(this.#overflowed, 'span was', 'spans were')
    this.#overflowed = 0
    if (this.#said.delete(OVERFLOW)) {
      this.#report.warn(`backend ${this.#facts.name}: has caught up; ${dropped} dropped in the meantime`)
    }
  }

  /**
   * A wrong path may be wrong for one signal only. It is reported for traces even after a report for metrics, but not the
   * reverse.
   */
  #sayFailure(signal: Signal, cause: string, line: string): boolean {
    if (cause !== WRONG_PATH || signal === 'traces') return this.#sayOnce(cause, line)
    return !this.#said.has(cause) && this.#sayOnce(`${cause} of ${signal}`, line)
  }

  #sayOnce(cause: string, line: string): boolean {
    if (this.#said.has(cause)) return false
    if (performance.now() - (this.#saidAt.get(cause) ?? Number.NEGATIVE_INFINITY) < REPEAT_AFTER_MILLIS) return false
    this.#said.add(cause)
    this.#saidAt.set(cause, performance.now())
    this.#report.warn(line)
    return true
  }
}

/** For the log of kept traces. The trace log has all spans. */
function keptAgain(lost: number): string {
  const again = 'trace log: what is kept is written again'
  return lost === 0 ? again : `${again}; ${count(lost, 'span of it was', 'spans of it were')} only sent from memory`
}

function missing(lost: number): string {
  return `${count(lost, 'span is', 'spans are')} not in it`
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`
}
