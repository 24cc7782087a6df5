import { join } from 'node:path'
import type { HostEvent } from '../hosts/host-event.ts'
import type { PluginStats, SpanIds } from '../wiring/plugin.ts'
import { AgentPlugins, type PluginSurroundings } from './agent-plugins.ts'
import { isInTime } from './in-time.ts'
import { Journal, type Place } from './journal.ts'
import { entryLine, type JournalEntry } from './journal-line.ts'
import { RecentIds } from './recent-ids.ts'

/**
 * For so long what is told is gathered: it is one write then, and two events take little more time than one. A receiver that is
 * killed loses what it was told meanwhile.
 */
const GATHER_MILLIS = 4
/** What is told is worked off for so long at a time: meanwhile nobody is answered. */
const SLICE_MILLIS = 4
/** Between a look at what of the journal is not needed any more, and the next: as long as something is told, and after that. */
const TIDY_MILLIS = 10_000
const IDLE_TIDY_MILLIS = 60_000

/** An event of an agent that is to be recorded. */
export interface Told {
  /** As in `INLETS`. */
  readonly host: string
  readonly event: HostEvent
  /** The same id twice is one event. Of several events in one delivery, each has its own. */
  readonly id?: string | undefined
}

/** Records what agents tell, and goes on with what a receiver before it has left open. */
export interface Recorder {
  /** Takes one event. Never throws; it is journalled before it is worked off. */
  take(told: Told): void
  /** Resolves when every event taken until now is in the journal, or could not be written there. Never rejects. */
  journalled(): Promise<void>
  readonly openTurns: number
  /** Events that are taken and not worked off yet. */
  readonly waiting: number
  stats(): RecorderStats
  /** W3C, of exactly the turn or tool that is named; undefined where it is not open, or not recorded yet. */
  traceparent(host: string, ids: SpanIds): string | undefined
  /** Resolves when all that was taken is recorded, and sent as `Plugin.flush` says. Never rejects. */
  flush(): Promise<void>
  /**
   * Takes no more. `handover`: what is open stays open for the next receiver; `end`: it is ended. Where nothing is open the two
   * are the same. Idempotent; never rejects.
   */
  close(how: 'handover' | 'end'): Promise<void>
}

export interface RecorderStats {
  readonly waiting: number
  /** Events that had been taken before. */
  readonly repeated: number
  readonly journalBytes: number
  /** By the agent's name; empty: those that name themselves. */
  readonly agents: Readonly<Record<string, PluginStats>>
}

export interface RecorderOptions extends PluginSurroundings {
  /** The receiver's own: the journal is a directory in it. One receiver at a time. */
  readonly stateDirectory: string
}

/** Resolves when what a receiver before it has left open is open again. Never rejects. */
export async function openRecorder(options: RecorderOptions): Promise<Recorder> {
  const recorder = new JournallingRecorder(options)
  await recorder.goOn().catch((error: unknown) => {
    const kind = error instanceof Error ? error.name : typeof error
    options.report.error(
      `what the receiver before this one had open cannot be gone on with (${kind}); it is ended as crashed`,
    )
  })
  return recorder
}

interface Waiting {
  readonly entry: JournalEntry
  readonly line: string
}

class JournallingRecorder implements Recorder {
  readonly #agents: AgentPlugins
  readonly #journal: Journal
  readonly #ids = new RecentIds()
  /** By host: an event without a time is as old as the one before. */
  readonly #lastAt = new Map<string, number>()
  #waiting: Waiting[] = []
  /** Being journalled and worked off. */
  #inHand = 0
  #working: Promise<void> | undefined
  /** Settled when what waits now has been journalled; undefined if nobody has asked. */
  #nextWrite: { readonly promise: Promise<void>; resolve(): void } | undefined
  /** The write that is under way. */
  #write: Promise<unknown> = Promise.resolve()
  #tidyAt = Date.now() + TIDY_MILLIS
  #tidyTimer: NodeJS.Timeout | undefined
  #repeated = 0
  #closed: Promise<void> | undefined

  constructor(options: RecorderOptions) {
    this.#agents = new AgentPlugins(options)
    this.#journal = new Journal(join(options.stateDirectory, 'journal'), options.report)
    process.once('exit', this.#onExit)
  }

  async goOn(): Promise<void> {
    const { entries, ids } = this.#journal.takeRead()
    for (const id of ids) this.#ids.add(id)
    for (const { entry } of entries) {
      const { host, id, event } = entry
      if (id !== undefined) this.#ids.add(idOf(host, id))
      this.#lastAt.set(host, event.at)
    }
    await this.#agents.readAgain(entries)
    if (entries.length > 0) this.#tidyLater()
  }

  take({ host, event, id }: Told): void {
    if (this.#closed !== undefined || this.#agents.isQuiet(host, event.event)) return
    if (id !== undefined && !this.#ids.add(idOf(host, id))) {
      this.#repeated += 1
      return
    }
    const at = Date.now()
    const eventAt = event.at ?? this.#lastAt.get(host) ?? at
    this.#lastAt.set(host, eventAt)
    const entry = { host, at, ...(id === undefined ? {} : { id }), event: { ...event, at: eventAt } }
    this.#waiting.push({ entry, line: lineOf(entry) })
    this.#working ??= this.#work()
  }

  async journalled(): Promise<void> {
    if (this.#waiting.length === 0) await this.#write
    else {
      this.#nextWrite ??= deferred()
      await this.#nextWrite.promise
    }
  }

  get openTurns(): number {
    return Object.values(this.#agents.stats()).reduce((sum, { turnsOpen }) => sum + turnsOpen, 0)
  }

  get waiting(): number {
    return this.#waiting.length + this.#inHand
  }

  stats(): RecorderStats {
    const { waiting } = this
    return { waiting, repeated: this.#repeated, journalBytes: this.#journal.bytes, agents: this.#agents.stats() }
  }

  traceparent(host: string, ids: SpanIds): string | undefined {
    return this.#agents.traceparent(host, ids)
  }

  async flush(): Promise<void> {
    await this.#idle()
    await this.#agents.flush()
  }

  close(how: 'handover' | 'end'): Promise<void> {
    this.#closed ??= this.#close(how)
    return this.#closed
  }

  async #close(how: 'handover' | 'end'): Promise<void> {
    clearTimeout(this.#tidyTimer)
    await this.#idle()
    if (how === 'end') this.#agents.endMachines()
    const isEnded = how === 'end' && this.#agents.isOpen
    // Before what is open is ended: read again, it would be open.
    if (isEnded) this.#journal.empty()
    await this.#agents.close(isEnded)
    if (!isEnded) await this.#tidyUp()
    process.removeListener('exit', this.#onExit)
    this.#journal.close()
  }

  /** Resolves when nothing waits. */
  async #idle(): Promise<void> {
    while (this.#working !== undefined) await this.#working
  }

  /** All that is gathered is one write; then it is worked off. */
  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise(resolve => setTimeout(resolve, GATHER_MILLIS))
      const batch = this.#waiting
      const asked = this.#nextWrite
      this.#waiting = []
      this.#nextWrite = undefined
      this.#inHand = batch.length
      const write = this.#journal.append(batch)
      this.#write = write
      const places = await write
      asked?.resolve()
      await this.#workOff(batch, places)
      if (this.#journal.isFull || Date.now() > this.#tidyAt) await this.#tidyUp()
    }
    this.#working = undefined
    this.#tidyLater()
  }

  async #workOff(batch: readonly Waiting[], places: readonly (Place | undefined)[]): Promise<void> {
    let until = performance.now() + SLICE_MILLIS
    for (const [index, { entry }] of batch.entries()) {
      const isSpine = this.#agents.tell(entry)
      const place = places[index]
      if (place !== undefined) place.isSpine = isSpine
      this.#inHand -= 1
      if (performance.now() < until) continue
      await new Promise(setImmediate)
      until = performance.now() + SLICE_MILLIS
    }
  }

  /** As long as there is more in the journal than it needs when nothing happens. */
  #tidyLater(): void {
    if (this.#closed !== undefined || this.#tidyTimer !== undefined || this.#journal.isSlim) return
    this.#tidyTimer = setTimeout(() => {
      this.#tidyTimer = undefined
      this.#working ??= this.#tidyUp().finally(() => this.#goOnWorking())
    }, IDLE_TIDY_MILLIS).unref()
  }

  /** What was told while the journal was tidied. */
  #goOnWorking(): void {
    this.#working = this.#waiting.length > 0 ? this.#work() : undefined
    this.#tidyLater()
  }

  /** What is forgotten here has to be in the trace log. */
  async #tidyUp(): Promise<void> {
    this.#tidyAt = Date.now() + TIDY_MILLIS
    if (!(await isInTime(this.#agents.saved()))) return
    const stats = this.#agents.stats()
    const openSince = (host: string): number | undefined => stats[host]?.openSince
    await this.#journal.tidy({ openSince, recentMillis: this.#agents.silenceMillis }, this.#ids.newest())
  }

  readonly #onExit = (): void => {
    this.#journal.finish(this.#waiting.map(({ line }) => line))
  }
}

function deferred(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>(settle => {
    resolve = settle
  })
  return { promise, resolve }
}

function idOf(host: string, id: string): string {
  return `${host} ${id}`
}

/** Empty when it cannot be written: then it is recorded and not journalled. */
function lineOf(entry: JournalEntry): string {
  try {
    return entryLine(entry)
  } catch {
    return ''
  }
}
