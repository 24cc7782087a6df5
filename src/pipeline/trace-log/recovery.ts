import { existsSync, type Stats } from 'node:fs'
import { lstat, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Report } from '../settings.ts'
import { endCrashedSpans } from './crashed-spans.ts'
import { adoptLedger, type Ledger, type LedgerEntry, listLedgers, readLedger } from './ledger.ts'
import { isAlive } from './owner.ts'
import { isOwnFile, placesOf, tighten } from './private-place.ts'
import type { Segment } from './segment.ts'
import { segmentIdentity } from './segment-name.ts'
import { readDestinations } from './segment-reader.ts'
import { SentRecord } from './sent-record.ts'
import type { Spool } from './spool.ts'
import type { Destinations } from './stored-line.ts'

/** Who delivers what was left behind to one backend. */
export interface Adopter {
  adopt(segment: Segment): void
  /**
   * A segment goes. Returns who is to be told how many spans it held for this backend at this moment: what is in memory of
   * them is still sent, the rest is lost.
   */
  gone(segment: Segment, reason: string): (owed: number) => void
  /** Spans that another process had left, and that are lost. */
  lose(spans: number, reason: string): void
}

export interface RecoveryParts {
  readonly stateDirectory: string
  readonly spool: Spool
  readonly adopters: ReadonlyMap<string, Adopter>
  /** Of the adopters. */
  readonly destinations: Destinations
  readonly report: Report
  /** Spans that a process that was killed had left open. */
  readonly onCrashed: (spans: number) => void
}

/** Takes care of what processes that have died left behind: ends what was open, and delivers what is owed. */
export class Recovery {
  readonly #parts: RecoveryParts
  #running: Promise<void> | undefined
  #isStopped = false
  #isRefused = false

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  /** Resolves when everything that can be is adopted; not when it is delivered. Never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#adoptAll().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async idle(): Promise<void> {
    await this.#running
  }

  /** Takes no more; resolves when what is being taken has been. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #adoptAll(): Promise<void> {
    if (!this.#isPrivate()) return
    for (const entry of await listLedgers(this.#parts.stateDirectory)) {
      if (this.#isStopped) return
      if (entry.owner !== undefined && isAlive(entry.owner, entry.heartbeatAt, Date.now())) continue
      try {
        await this.#adopt(entry)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        this.#parts.report.debug(`trace log: ${entry.segment} is left for later (${code ?? String(error)})`)
      }
    }
  }

  /** What others may have put there is not sent. */
  #isPrivate(): boolean {
    const { stateDirectory, report } = this.#parts
    try {
      for (const place of placesOf(stateDirectory)) if (existsSync(place)) tighten(place, line => report.warn(line))
      return true
    } catch (error) {
      const { code, path } = error as NodeJS.ErrnoException
      const line = `trace log: what is in ${path ?? stateDirectory} is not sent, because others may write there (${code}). Make it yours alone (chmod 700), or set XDG_STATE_HOME to another place`
      if (!this.#isRefused) report.warn(line)
      this.#isRefused = true
      return false
    }
  }

  async #adopt(entry: LedgerEntry): Promise<void> {
    const { stateDirectory, adopters } = this.#parts
    const state = await readLedger(entry)
    if (state === undefined) return
    const owed = Object.keys(state.delivered)
    const isMine = owed.length === 0 || owed.some(backend => adopters.has(backend))
    if (!state.open && !isMine) return
    const ledger = adoptLedger(stateDirectory, entry)
    if (ledger === undefined) return
    try {
      await this.#takeOver(ledger, entry)
    } catch (error) {
      ledger.release()
      throw error
    }
  }

  async #takeOver(ledger: Ledger, entry: LedgerEntry): Promise<void> {
    const { spool, adopters } = this.#parts
    const stats = await statOf(ledger.segmentPath)
    if (stats === undefined) {
      ledger.remove()
      return
    }
    if (!isOwnFile(stats)) {
      this.#parts.report.warn(`trace log: ${ledger.segmentPath} is no file of ours, and is not sent`)
      ledger.remove()
      return
    }
    if (ledger.isDamaged) {
      this.#parts.report.warn(
        `trace log: what backends had not got of ${ledger.segmentPath} is not known any more, and is not sent; it can be read there`,
      )
    }
    ledger.cutTo(stats.size)
    if (ledger.open) await this.#endCrashed(ledger, writersHeartbeat(entry))
    const segment = spool.adopt(ledger, (await stat(ledger.segmentPath)).size)
    await this.#noteMoved(segment)
    for (const backend of ledger.backends) adopters.get(backend)?.adopt(segment)
    segment.settle()
  }

  /** What was meant for another address goes to the one that its backend has now: that one has it then. */
  async #noteMoved({ ledger, path, bytes }: Segment): Promise<void> {
    const { stateDirectory, destinations } = this.#parts
    const owed = ledger.backends.filter(backend => destinations.has(backend))
    if (owed.length === 0) return
    const meant = await readDestinations(path)
    const moved = owed.flatMap(backend => {
      const destination = destinations.get(backend)
      return destination === undefined || destination === meant.get(backend) ? [] : [destination]
    })
    const record = moved.length === 0 ? undefined : new SentRecord(stateDirectory, ledger.segment)
    for (const destination of moved) record?.set(destination, { since: 0, before: null, offset: bytes })
  }

  async #endCrashed(ledger: Ledger, heartbeatAt: number): Promise<void> {
    try {
      const later = await laterSegments(ledger.segmentPath)
      const spans = await endCrashedSpans(ledger.segmentPath, later, heartbeatAt)
      ledger.close()
      if (spans > 0) this.#parts.onCrashed(spans)
    } catch (error) {
      // On a full disk, say. What has ended is delivered all the same; the rest is for the next process.
      const { code } = error as NodeJS.ErrnoException
      this.#parts.report.debug(`trace log: what was open in ${ledger.segment} cannot be ended now (${code})`)
    }
  }
}

/** Not that of a process that had taken it over, and died itself. */
function writersHeartbeat({ segment, owner, heartbeatAt }: LedgerEntry): number {
  return owner !== undefined && owner.pid === segmentIdentity(`${segment}.jsonl`)?.pid ? heartbeatAt : 0
}

/** Undefined where there is none. @throws the error of the file system when it cannot be said */
async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Those that the same process began later. */
async function laterSegments(path: string): Promise<string[]> {
  const own = segmentIdentity(basename(path))
  const names = await readdir(dirname(path))
  return names
    .map(segmentIdentity)
    .filter(other => other !== undefined && other.pid === own?.pid && other.startAt > own.startAt)
    .map(other => join(dirname(path), `${other?.name}.jsonl`))
}
