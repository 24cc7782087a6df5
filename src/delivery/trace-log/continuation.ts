import { join } from 'node:path'
import { endedKeysIn, listSegments, readHeader } from './segment-file.ts'

/** Tolerance for a clock that was set back. */
const CLOCK_MILLIS = 3_600_000
const TRACE_ID_CHARS = 32

/**
 * The kind of events that a continuing process receives: `past`, events whose spans the previous process has ended;
 * `again`, events it received while spans were open; `new`, events not received before.
 */
type ReplayPhase = 'past' | 'again' | 'new'

/**
 * Continues the open spans of the previous process, for example of a receiver, and leaves its own open spans to the next
 * one. It reads the events of the previous process again. Spans already written are recognised by their ids, which are the
 * same. Open spans are noted in segments of this process, so that other processes do not consider them crashed.
 */
export class Continuation {
  leavesOpen = true
  #phase: ReplayPhase = 'new'
  #at = 0
  #isSafe = true
  #written: ReadonlySet<string> = new Set()
  /** With tail sampling: spans that the previous process has passed to the backends. */
  #kept: ReadonlySet<string> = new Set()
  readonly #replayedTraces = new Set<string>()
  readonly #continued = new Set<string>()
  /** Each writes the open spans of one log. */
  readonly savers: (() => Promise<void>)[] = []
  readonly #afterReplay: (() => void)[] = []

  /** True while old events are read. They are not measured or sent, because the previous process has done so. */
  get isReplaying(): boolean {
    return this.#phase !== 'new'
  }

  /** Epoch milliseconds. While old events are read, the time at which they were first received. */
  readonly now = (): number => (this.isReplaying ? this.#at : Date.now())

  beginReplay(phase: 'past' | 'again', at: number): void {
    this.#phase = phase
    this.#at = at
    this.#isSafe = false
  }

  setWritten(written: ReadonlySet<string>, kept: ReadonlySet<string>): void {
    this.#written = written
    this.#kept = kept
  }

  /** True if a starting span is already written, or ended before the events of kind `again`. */
  readonly isWritten = (traceId: string, spanId: string): boolean => {
    if (this.#phase === 'past') return true
    if (this.#phase === 'again') this.#replayedTraces.add(traceId)
    else if (this.#written.size === 0) return false
    const key = `${traceId}${spanId}`
    const isWritten = this.#written.has(key)
    if (this.#phase === 'again' && !isWritten) this.#continued.add(key)
    return isWritten
  }

  /** Like `isWritten`, with tail sampling: spans undecided by the previous process were not sent. */
  readonly isKept = (traceId: string, spanId: string): boolean =>
    this.#phase === 'past' || this.#kept.has(`${traceId}${spanId}`)

  /** True if this process continues a span (trace id and span id). It has not crashed, whatever the log says. */
  readonly isContinuedHere = (key: string): boolean => this.#continued.has(key)

  async saved(): Promise<void> {
    await Promise.all(this.savers.map(save => save()))
  }

  async endReplay(): Promise<void> {
    this.#phase = 'new'
    const isReplayed = (key: string): boolean => this.#replayedTraces.has(key.slice(0, TRACE_ID_CHARS))
    this.#written = new Set([...this.#written].filter(isReplayed))
    this.#kept = new Set([...this.#kept].filter(isReplayed))
    this.#replayedTraces.clear()
    await this.saved()
    this.#isSafe = true
    for (const run of this.#afterReplay.splice(0)) run()
  }

  /** Runs the callback once the open spans are noted. Until then they look crashed. */
  afterReplay(run: () => void): void {
    if (this.#isSafe) run()
    else this.#afterReplay.push(run)
  }
}

/** Ended spans since then (epoch milliseconds) of processes that can be continued. Never rejects. */
export async function endedSince(stateDirectory: string, since: number): Promise<Set<string>> {
  const ended = new Set<string>()
  for (const { path, changedAt } of await listSegments(join(stateDirectory, 'traces'))) {
    if (changedAt < since - CLOCK_MILLIS || !(await isContinued(path))) continue
    try {
      for await (const key of endedKeysIn(path)) ended.add(key)
    } catch {
      // For example pruned. Its spans may be recorded twice, with the same ids.
    }
  }
  return ended
}

export async function isContinued(path: string): Promise<boolean> {
  return (await readHeader(path)).continuedMillis > 0
}
