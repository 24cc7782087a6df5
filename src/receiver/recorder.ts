import { join } from 'node:path'
import type { HostEvent } from '../agents/host-event.ts'
import { ignoreErrors, kindOf } from '../contract/foreign.ts'
import { inTime, TOO_LATE } from '../guards/in-time.ts'
import type { PluginStats, SpanIds } from '../plugin/plugin.ts'
import { AgentPlugins, type PluginSurroundings } from './agent-plugins.ts'
import type { EntryLocation, JournalEntry, JournalLineToWrite } from './journal.ts'
import { entryLine, Journal, MAX_DISK_MILLIS } from './journal.ts'
import { RecentIds } from './recent-ids.ts'

/** One write for all: two events take little more time than one. A killed receiver loses the events gathered meanwhile. */
const GATHER_MILLIS = 4
const SLICE_MILLIS = 4
/** Ids that are recognised when they come again (at least half of them), and those that the journal passes on. */
const MAX_IDS = 20_000
const MAX_KEPT = 1000
/** Interval between compactions of the journal: while events arrive, and when idle. */
const TIDY_MILLIS = 10_000
const IDLE_TIDY_MILLIS = 60_000

export interface ReceivedEvent {
  readonly host: string
  readonly event: HostEvent
  readonly id?: string | undefined
}

export interface RecorderStats {
  readonly waiting: number
  readonly repeated: number
  readonly journalBytes: number
  readonly agents: Readonly<Record<string, PluginStats>>
}

export interface RecorderOptions extends PluginSurroundings {
  /** The receiver's own state directory, which contains the journal. One receiver at a time may use it. */
  readonly stateDirectory: string
}

export type Recorder = Pick<JournallingRecorder, Exclude<keyof JournallingRecorder, 'recover'>>

/** Resolves when the spans left open by the previous receiver are open again. Never rejects. */
export async function openRecorder(options: RecorderOptions): Promise<Recorder> {
  const recorder = new JournallingRecorder(options)
  await recorder.recover().catch((error: unknown) => {
    options.report.error(
      `what the receiver before this one had open cannot be gone on with (${kindOf(error)}); it is ended as crashed`,
    )
  })
  return recorder
}

class JournallingRecorder {
  readonly #agents: AgentPlugins
  readonly #journal: Journal
  readonly #ids = new RecentIds(MAX_IDS)
  /** Last event time by host. An event without a time gets this one. */
  readonly #lastAt = new Map<string, number>()
  #waiting: JournalLineToWrite[] = []
  #inHand = 0
  #working: Promise<void> | undefined
  #onJournalled: (() => void)[] = []
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

  async recover(): Promise<void> {
    const { entries, ids } = this.#journal.takeRecovered()
    for (const id of ids) this.#ids.addId(id)
    for (const { entry } of entries) {
      const { host, id, event } = entry
      if (id !== undefined) this.#ids.addId(idOf(host, id))
      this.#lastAt.set(host, event.at)
    }
    await this.#agents.replay(entries)
    if (entries.length > 0) this.#tidyLater()
  }

  /** Records one event. Journals it before processing it. Never throws. */
  recordEvent({ host, event, id }: ReceivedEvent): void {
    if (this.#closed !== undefined || this.#agents.hasNoRecords(host, event.event)) return
    if (id !== undefined && !this.#ids.addId(idOf(host, id))) {
      this.#repeated += 1
      return
    }
    const at = Date.now()
    const eventAt = event.at ?? this.#lastAt.get(host) ?? at
    this.#lastAt.set(host, eventAt)
    const timed = event.at === eventAt ? (event as JournalEntry['event']) : { ...event, at: eventAt }
    const entry = { host, at, id, event: timed }
    this.#waiting.push({ entry, line: ignoreErrors(() => entryLine(entry)) ?? '' })
    this.#working ??= this.#work()
  }

  /** Resolves when every event received until now is in the journal, or could not be written there. Never rejects. */
  whenJournalled(): Promise<unknown> {
    if (this.#waiting.length === 0) return this.#write
    return new Promise<void>(resolve => this.#onJournalled.push(resolve))
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

  /** Resolves when everything received is recorded, and sent as in `Plugin.flush`. Never rejects. */
  async flush(): Promise<void> {
    await this.#idle()
    await this.#agents.flush()
  }

  /** `handover` leaves open spans to the next receiver, `end` ends them; without any, both do the same. Never rejects. */
  close(how: 'handover' | 'end'): Promise<void> {
    this.#closed ??= this.#close(how)
    return this.#closed
  }

  async #close(how: 'handover' | 'end'): Promise<void> {
    clearTimeout(this.#tidyTimer)
    await this.#idle()
    if (how === 'end') this.#agents.endMachines()
    const isEnded = how === 'end' && this.#agents.hasOpenSpans
    // Before the spans are ended: a replay of the journal would open them again.
    if (isEnded) this.#journal.clear()
    await this.#agents.close(isEnded)
    if (!isEnded) await this.#tidyUp()
    process.removeListener('exit', this.#onExit)
    this.#journal.close()
  }

  async #idle(): Promise<void> {
    while (this.#working !== undefined) await this.#working
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise(resolve => setTimeout(resolve, GATHER_MILLIS))
      const batch = this.#waiting
      const onJournalled = this.#onJournalled
      this.#waiting = []
      this.#onJournalled = []
      this.#inHand = batch.length
      const write = this.#journal.append(batch)
      this.#write = write
      const places = await write
      for (const resolve of onJournalled) resolve()
      await this.#workOff(batch, places)
      if (this.#journal.isFull || Date.now() > this.#tidyAt) await this.#tidyUp()
    }
    this.#working = undefined
    this.#tidyLater()
  }

  async #workOff(batch: readonly JournalLineToWrite[], places: readonly (EntryLocation | undefined)[]): Promise<void> {
    let until = performance.now() + SLICE_MILLIS
    for (const [index, { entry }] of batch.entries()) {
      const isSessionRecord = this.#agents.recordEvent(entry)
      const place = places[index]
      if (place !== undefined) place.isSessionRecord = isSessionRecord
      this.#inHand -= 1
      if (performance.now() < until) continue
      await new Promise(setImmediate)
      until = performance.now() + SLICE_MILLIS
    }
  }

  #tidyLater(): void {
    if (this.#closed !== undefined || this.#tidyTimer !== undefined || this.#journal.isCompact) return
    this.#tidyTimer = setTimeout(() => {
      this.#tidyTimer = undefined
      this.#working ??= this.#tidyUp().finally(() => this.#goOnWorking())
    }, IDLE_TIDY_MILLIS).unref()
  }

  #goOnWorking(): void {
    this.#working = this.#waiting.length > 0 ? this.#work() : undefined
    this.#tidyLater()
  }

  /** Entries may be dropped only after their spans are in the trace log. */
  async #tidyUp(): Promise<void> {
    this.#tidyAt = Date.now() + TIDY_MILLIS
    if ((await inTime(this.#agents.whenSaved(), MAX_DISK_MILLIS)) === TOO_LATE) return
    const stats = this.#agents.stats()
    const openSince = (host: string): number | undefined => stats[host]?.openSince
    await this.#journal.compact({ openSince, recentMillis: this.#agents.silenceMillis }, this.#ids.newest(MAX_KEPT))
  }

  readonly #onExit = (): void => {
    this.#journal.appendAtExit(this.#waiting.map(({ line }) => line))
  }
}

function idOf(host: string, id: string): string {
  return `${host} ${id}`
}
