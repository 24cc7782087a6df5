import { hookRecordMachine } from '../agents/hook-records.ts'
import { HostForwarder } from '../agents/host-forwarder.ts'
import { MACHINES } from '../agents/machines.ts'
import { Continuation, endedSince, keptDirectory } from '../delivery/trace-log/index.ts'
import { openWorkTtlMillisOf } from '../plugin/config/keys.ts'
import { type Environment, stateHome } from '../plugin/config/paths.ts'
import { resolveConfig } from '../plugin/config/resolve.ts'
import { createPluginIn, type PluginEnvironment } from '../plugin/create-plugin.ts'
import type { Plugin, PluginStats, SpanIds } from '../plugin/plugin.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import type { JournalEntry, RecoveredEntry } from './journal.ts'

/** The prefix of records that our own hooks emit for a decision. No agent has an event with such a name. */
export const CONTROL_PREFIX = 'hookspan:'

/** Events with these records are kept: without them, a turn cannot be placed in its session. */
const SESSION_HOOKS: ReadonlySet<string> = new Set(
  'on_session_start pre_llm_call on_session_end on_session_finalize on_session_reset'.split(' '),
)
const SLICE_MILLIS = 10

export interface PluginSurroundings {
  readonly env: Environment
  readonly home: string
  readonly report: Diagnostics
  /** Boot time of the machine, epoch milliseconds. Absent if unknown. */
  readonly bootedAt?: number
}

export class AgentPlugins {
  readonly silenceMillis: number
  readonly #continuedMillis: number
  readonly #bootedAt: number
  readonly #surroundings: PluginEnvironment
  readonly #reported = new Set<string>()
  #isStarting = false
  readonly #continuation = new Continuation()
  readonly #agents = new Map<string, { readonly plugin: Plugin; readonly forwarder: HostForwarder }>()

  constructor({ env, home, report, bootedAt = 0 }: PluginSurroundings) {
    const { config } = resolveConfig({ code: {}, env, home })
    this.silenceMillis = config.root_span_ttl_ms
    this.#continuedMillis = openWorkTtlMillisOf(config)
    this.#bootedAt = bootedAt
    const { TRACEPARENT: _, ...own } = env
    this.#surroundings = {
      // The process that started the receiver is not the parent of what agents do later.
      env: own,
      home,
      isReplay: false,
      diagnostics: {
        warn: line => this.#isNew(line) && report.warn(line),
        error: line => this.#isNew(line) && report.error(line),
        debug: report.debug,
      },
      continuation: this.#continuation,
    }
  }

  hasNoRecords(host: string, event: string): boolean {
    return this.#agentOf(host).forwarder.isIgnored(event)
  }

  /** Returns true if the event may still be needed after it has ended: see `EntryLocation.isSessionRecord`. */
  recordEvent({ host, event }: JournalEntry): boolean {
    const { plugin, forwarder } = this.#agentOf(host)
    if (!event.event.startsWith(CONTROL_PREFIX)) {
      const records = forwarder.forwardEvent(event)
      return records.length === 0 || records.some(({ hook }) => SESSION_HOOKS.has(hook))
    }
    const { at } = event
    const { host: named } = (event.context ?? {}) as { readonly host?: string }
    plugin.emitUntyped(event.event.slice(CONTROL_PREFIX.length), event.data, {
      ...(at && { at }),
      ...(named && { host: named }),
    })
    return false
  }

  traceparent(host: string, ids: SpanIds): string | undefined {
    return this.#agents.get(host)?.plugin.traceparent(ids)
  }

  /** Resolves when the spans that the previous receiver left are open and in the trace log again. No known case rejects. */
  async replay(entries: readonly RecoveredEntry[]): Promise<void> {
    const last = entries.at(-1)
    if (last === undefined) return
    // After this much silence, or a restart of the machine, no agent of that time is still running.
    const isOver = last.entry.at < Math.max(Date.now() - this.#continuedMillis, this.#bootedAt)
    const isPast = ({ location: place }: RecoveredEntry): boolean => isOver || place.isPast
    const again = entries.filter(entry => !isPast(entry))
    try {
      await this.#replayEntries('past', entries.filter(isPast))
      if (again[0] !== undefined) await this.#loadEndedSpans(again[0].entry.at)
      await this.#replayEntries('again', again)
    } finally {
      await this.#continuation.endReplay()
    }
  }

  stats(): Readonly<Record<string, PluginStats>> {
    return Object.fromEntries([...this.#agents].map(([host, { plugin }]) => [host, plugin.stats()]))
  }

  async whenSaved(): Promise<void> {
    // `stats()` processes the queued records first.
    this.stats()
    await this.#continuation.saved()
  }

  async flush(): Promise<void> {
    await Promise.all([...this.#agents.values()].map(({ plugin }) => plugin.flush()))
  }

  /** True if any span is open, even a child of a turn that has ended. */
  get hasOpenSpans(): boolean {
    return Object.values(this.stats()).some(({ spansOpen }) => spansOpen > 0)
  }

  endMachines(): void {
    for (const { forwarder } of this.#agents.values()) forwarder.endRun(Date.now())
  }

  /** @param ends true ends all open spans; false leaves them to the next receiver */
  async close(ends: boolean): Promise<void> {
    this.#continuation.leavesOpen = !ends
    await Promise.all([...this.#agents.values()].map(({ plugin }) => plugin.shutdown()))
  }

  async #loadEndedSpans(since: number): Promise<void> {
    const directory = stateHome(this.#surroundings.env, this.#surroundings.home)
    if (directory === undefined) return
    const kept = await endedSince(keptDirectory(directory), since)
    this.#continuation.setWritten(await endedSince(directory, since), kept)
  }

  async #replayEntries(mode: 'past' | 'again', entries: readonly RecoveredEntry[]): Promise<void> {
    let until = performance.now() + SLICE_MILLIS
    for (const { entry, location: place } of entries) {
      this.#continuation.beginReplay(mode, entry.at)
      place.isSessionRecord = this.recordEvent(entry)
      if (performance.now() < until) continue
      await new Promise(setImmediate)
      until = performance.now() + SLICE_MILLIS
    }
    this.stats()
  }

  #agentOf(host: string) {
    let agent = this.#agents.get(host)
    if (agent === undefined) {
      const named = host === '' ? {} : { host }
      this.#isStarting = true
      const plugin = createPluginIn({ ...named, deterministic_ids: true }, this.#surroundings)
      this.#isStarting = false
      const machine = Object.hasOwn(MACHINES, host) ? MACHINES[host]?.() : undefined
      agent = { plugin, forwarder: new HostForwarder(host, machine ?? hookRecordMachine, plugin, plugin.report.warn) }
      this.#agents.set(host, agent)
    }
    return agent
  }

  /** Lines of a start are reported once: all plugins share one configuration. */
  #isNew(line: string): boolean {
    const isNew = !this.#isStarting || !this.#reported.has(line)
    if (this.#isStarting) this.#reported.add(line)
    return isNew
  }
}
