import { type Environment, stateHome } from '../config/paths.ts'
import { resolveConfig } from '../config/resolve.ts'
import { openWorkTtlMillisOf } from '../config/silence-limits.ts'
import type { HookRecord } from '../contract/index.ts'
import type { Report } from '../core/guard.ts'
import { hookRecordMachine } from '../hosts/hook-records.ts'
import { MACHINES } from '../hosts/machines.ts'
import { Telling } from '../hosts/telling.ts'
import { Continuation, endedSince, keptDirectory } from '../trace-log/index.ts'
import { createPluginIn, type Surroundings } from '../wiring/create-plugin.ts'
import type { Plugin, PluginStats, SpanIds } from '../wiring/plugin.ts'
import type { ReadEntry } from './journal.ts'
import type { JournalEntry } from './journal-line.ts'

/** Of what our own hooks have decided, before the name of the record; no agent has an event of such a name. */
export const CONTROL = 'hookspan:'

/** Without what tells these, it would not be known which turn of its session a turn is. */
const SPINE: ReadonlySet<string> = new Set([
  'on_session_start',
  'pre_llm_call',
  'on_session_end',
  'on_session_finalize',
  'on_session_reset',
])
/** What is read again is worked off for so long at a time. */
const SLICE_MILLIS = 10

/** What all plugins are made in. */
export interface PluginSurroundings {
  readonly env: Environment
  /** The person's home directory. */
  readonly home: string
  readonly report: Report
  /** When the machine was started, epoch milliseconds. Absent: not known. */
  readonly bootedAt?: number
}

interface Agent {
  readonly plugin: Plugin
  readonly telling: Telling
}

/** A plugin for each agent that tells something, and the machine that knows what it means. */
export class AgentPlugins {
  /** After so long a silence a turn without open work is over. */
  readonly silenceMillis: number
  /** After so long no turn is gone on with. */
  readonly #continuedMillis: number
  readonly #bootedAt: number
  readonly #surroundings: Surroundings
  readonly #report: StartReport
  readonly #continuation = new Continuation()
  readonly #agents = new Map<string, Agent>()

  constructor({ env, home, report, bootedAt = 0 }: PluginSurroundings) {
    const { config } = resolveConfig({ code: {}, env, home })
    this.silenceMillis = config.root_span_ttl_ms
    this.#continuedMillis = openWorkTtlMillisOf(config)
    this.#bootedAt = bootedAt
    this.#report = new StartReport(report)
    const { TRACEPARENT: _, ...own } = env
    this.#surroundings = {
      // Whoever has started the receiver has not asked for what agents do later.
      env: own,
      home,
      isReplay: false,
      diagnostics: this.#report,
      continuation: this.#continuation,
    }
  }

  /** Nothing need be made of an event of this name. */
  isQuiet(host: string, event: string): boolean {
    return this.#agentOf(host).telling.isForNobody(event)
  }

  /** Tells what an event means. Returns whether it may be needed when it is over: see `Place.isSpine`. */
  tell({ host, event }: JournalEntry): boolean {
    const { plugin, telling } = this.#agentOf(host)
    if (!event.event.startsWith(CONTROL)) return isSpine(telling.take(event))
    const { at } = event
    const { host: named } = (event.context ?? {}) as { readonly host?: string }
    plugin.emitUntyped(event.event.slice(CONTROL.length), event.data, {
      ...(at && { at }),
      ...(named && { host: named }),
    })
    return false
  }

  /** W3C, of exactly what is named; undefined where it is not open, or not told yet. */
  traceparent(host: string, ids: SpanIds): string | undefined {
    return this.#agents.get(host)?.plugin.traceparent(ids)
  }

  /**
   * What the receiver before this one was told. Resolves when what it left open is open again, and noted in the trace log.
   * Nothing is known to make it reject; what is told then is recorded all the same.
   */
  async readAgain(entries: readonly ReadEntry[]): Promise<void> {
    const last = entries.at(-1)
    if (last === undefined) return
    // After so long, or when the machine has been restarted, no agent of that time is at work.
    const isOver = last.entry.at < Math.max(Date.now() - this.#continuedMillis, this.#bootedAt)
    const isPast = ({ place }: ReadEntry): boolean => isOver || place.isPast
    const again = entries.filter(entry => !isPast(entry))
    try {
      await this.#read('past', entries.filter(isPast))
      await this.#know(again[0]?.entry.at)
      await this.#read('again', again)
    } finally {
      await this.#continuation.end()
    }
  }

  stats(): Readonly<Record<string, PluginStats>> {
    return Object.fromEntries([...this.#agents].map(([host, { plugin }]) => [host, plugin.stats()]))
  }

  /** Resolves when all that was told is in the trace log. */
  async saved(): Promise<void> {
    // What waits is worked off first.
    this.stats()
    await this.#continuation.saved()
  }

  async flush(): Promise<void> {
    await Promise.all([...this.#agents.values()].map(({ plugin }) => plugin.flush()))
  }

  /** Whether something is open, be it only a child of a turn that is over. */
  get isOpen(): boolean {
    return Object.values(this.stats()).some(({ spansOpen }) => spansOpen > 0)
  }

  /** Nothing more will come: what machines have kept back, in case more came, is told. */
  endMachines(): void {
    for (const { telling } of this.#agents.values()) telling.end(Date.now())
  }

  /** @param ends what is open is ended; else it is left to the next receiver */
  async close(ends: boolean): Promise<void> {
    this.#continuation.leavesOpen = !ends
    await Promise.all([...this.#agents.values()].map(({ plugin }) => plugin.shutdown()))
  }

  async #know(since: number | undefined): Promise<void> {
    const { env, home } = this.#surroundings
    const directory = stateHome(env, home)
    if (since === undefined || directory === undefined) return
    const kept = await endedSince(keptDirectory(directory), since)
    this.#continuation.knows(await endedSince(directory, since), kept)
  }

  async #read(telling: 'past' | 'again', entries: readonly ReadEntry[]): Promise<void> {
    let until = performance.now() + SLICE_MILLIS
    for (const { entry, place } of entries) {
      this.#continuation.read(telling, entry.at)
      place.isSpine = this.tell(entry)
      if (performance.now() < until) continue
      await new Promise(setImmediate)
      until = performance.now() + SLICE_MILLIS
    }
    // All of it is to be worked off before something else is told.
    this.stats()
  }

  #agentOf(host: string): Agent {
    let agent = this.#agents.get(host)
    if (agent === undefined) {
      const named = host === '' ? {} : { host }
      const create = (): Plugin => createPluginIn({ ...named, deterministic_ids: true }, this.#surroundings)
      const plugin = this.#report.during(create)
      const machine = Object.hasOwn(MACHINES, host) ? MACHINES[host]?.() : undefined
      agent = { plugin, telling: new Telling(host, machine ?? hookRecordMachine, plugin, this.#report.warn) }
      this.#agents.set(host, agent)
    }
    return agent
  }
}

function isSpine(records: readonly HookRecord[]): boolean {
  return records.length === 0 || records.some(({ hook }) => SPINE.has(hook))
}

/** What all plugins say when they are made is said once: they have one configuration. */
class StartReport implements Report {
  readonly #report: Report
  readonly #said = new Set<string>()
  #isStart = false

  constructor(report: Report) {
    this.#report = report
  }

  during<Result>(run: () => Result): Result {
    this.#isStart = true
    try {
      return run()
    } finally {
      this.#isStart = false
    }
  }

  readonly warn = (line: string): void => {
    if (this.#isNews(line)) this.#report.warn(line)
  }

  readonly error = (line: string): void => {
    if (this.#isNews(line)) this.#report.error(line)
  }

  readonly debug = (line: string): void => this.#report.debug(line)

  #isNews(line: string): boolean {
    if (!this.#isStart) return true
    const isNews = !this.#said.has(line)
    this.#said.add(line)
    return isNews
  }
}
