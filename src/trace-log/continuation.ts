import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { segmentIdentity } from './segment-file.ts'
import { readHeader, SegmentReader } from './segment-reader.ts'
import { SpanLine } from './span-line.ts'

/** A clock may have been set back. */
const CLOCK_MILLIS = 3_600_000
const TRACE_ID_CHARS = 32

/**
 * What is told to the plugins of a process that goes on with what one before it has left open: `past`, what the one before
 * had done with; `again`, what it was told while something was open; `new`, what nobody was told before.
 */
type Telling = 'past' | 'again' | 'new'

/**
 * A process, a receiver say, that goes on with what one before it has left open, and leaves open what the next one goes on with.
 * It reads again what the other one was told. By their ids, which are the same, spans are known that have been written already;
 * what is open is noted in segments of this process, and after that nobody takes it for crashed.
 */
export class Continuation {
  /** Whether what is open when the process ends is left to the next one. */
  leavesOpen = true
  #telling: Telling = 'new'
  #at = 0
  #isSafe = true
  #written: ReadonlySet<string> = new Set()
  /** Of what is held until it is judged: what the process before this one has given to the backends. */
  #kept: ReadonlySet<string> = new Set()
  /** Traces of what was read again, and the spans in them that this process has gone on with. */
  readonly #met = new Set<string>()
  readonly #takenUp = new Set<string>()
  readonly #savers: (() => Promise<void>)[] = []
  readonly #over: (() => void)[] = []

  /** Nothing that is told counts: it has been measured, and sent, by the process that it was told to. */
  get isReading(): boolean {
    return this.#telling !== 'new'
  }

  /** The time, epoch milliseconds: while something is read again, that at which it was told. */
  readonly now = (): number => (this.isReading ? this.#at : Date.now())

  /** What is told from now on was told before, at this time. */
  read(telling: 'past' | 'again', at: number): void {
    this.#telling = telling
    this.#at = at
    this.#isSafe = false
  }

  /**
   * @param written spans of which the log has the end: trace id and span id
   * @param kept those of the log of what is kept
   */
  knows(written: ReadonlySet<string>, kept: ReadonlySet<string>): void {
    this.#written = written
    this.#kept = kept
  }

  /** Whether a span that begins now is written already, or was over when the process before this one was told other things. */
  isWritten(traceId: string, spanId: string): boolean {
    if (this.#telling === 'past') return true
    if (this.#telling === 'again') this.#met.add(traceId)
    else if (this.#written.size === 0) return false
    const key = `${traceId}${spanId}`
    const isWritten = this.#written.has(key)
    if (this.#telling === 'again' && !isWritten) this.#takenUp.add(key)
    return isWritten
  }

  /** As `isWritten`, for what is held until it is judged: nobody has what the one before had not judged. */
  isKept(traceId: string, spanId: string): boolean {
    return this.#telling === 'past' || this.#kept.has(`${traceId}${spanId}`)
  }

  /** Whether this process has gone on with a span, by trace id and span id: it has not crashed, whatever the log says. */
  readonly isTakenUp = (key: string): boolean => this.#takenUp.has(key)

  /** @param save resolves when all that is recorded is in the log; never rejects */
  join(save: () => Promise<void>): void {
    this.#savers.push(save)
  }

  /** Resolves when all that is recorded is in the logs of all plugins, or cannot be written. Never rejects. */
  async saved(): Promise<void> {
    await Promise.all(this.#savers.map(save => save()))
  }

  /** All has been read. Resolves when it is safe; what waits for that is called then. */
  async end(): Promise<void> {
    this.#telling = 'new'
    this.#written = new Set([...this.#written].filter(key => this.#met.has(key.slice(0, TRACE_ID_CHARS))))
    this.#kept = new Set([...this.#kept].filter(key => this.#met.has(key.slice(0, TRACE_ID_CHARS))))
    this.#met.clear()
    await this.saved()
    this.#isSafe = true
    for (const run of this.#over.splice(0)) run()
  }

  /** Not before what was open is noted: until then it looks as if it had crashed. */
  whenRead(run: () => void): void {
    if (this.#isSafe) run()
    else this.#over.push(run)
  }
}

/**
 * Spans of which a log has the end, by trace id and span id: of those that were written since then by processes that others go
 * on with. Never rejects; what cannot be read has no spans.
 *
 * @param since epoch milliseconds
 */
export async function endedSince(stateDirectory: string, since: number): Promise<Set<string>> {
  const ended = new Set<string>()
  for (const path of await continuedSegments(join(stateDirectory, 'traces'), since)) {
    try {
      for await (const line of wholeLines(path)) for (const { key } of line.stamps()) ended.add(key)
    } catch {
      // Removed to make room, say. What was in it may be there twice, with the same ids.
    }
  }
  return ended
}

async function continuedSegments(directory: string, since: number): Promise<string[]> {
  const names = await readdir(directory).catch(() => [])
  const found: string[] = []
  for (const name of names.filter(name => segmentIdentity(name) !== undefined)) {
    const path = join(directory, name)
    const writtenAt = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0
    if (writtenAt >= since - CLOCK_MILLIS && (await isContinued(path))) found.push(path)
  }
  return found
}

/** Whether another process may go on with what is open in a segment. */
export async function isContinued(path: string): Promise<boolean> {
  return (await readHeader(path)).continuedMillis > 0
}

async function* wholeLines(path: string): AsyncGenerator<SpanLine, void> {
  const reader = new SegmentReader(path)
  try {
    for await (const line of reader.found(0, (await stat(path)).size)) if (line instanceof SpanLine) yield line
  } finally {
    await reader.close()
  }
}
