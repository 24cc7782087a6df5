/**
 * The fixed workload that every backend is fed with, and two accounts of what it is.
 *
 *     const fed = await feedWorkload({ home, config: { backends: [{ type: 'jaeger', endpoint: otlpUrl }] } })
 *     expect(treeText(answered)).toBe(treeText(fed.spans.map(treeSpan)))
 *     expect(tokensThatTheServerSums).toBe(fed.totals.overall.tokens.total)
 *
 * It is every capture and recording that replays (`recorded.ts`), in a row, and beside them some forty agents with 200
 * turns (`agents.ts` what they do, `dressed.ts` what they say), all in one plugin: the records name their hosts. The same
 * each time but for the times: the newest record is three minutes old, distances inside a scenario are kept
 * (`timeline.ts`).
 *
 * - `spans`: what was sent, read back from the plugin's own trace log on disk (`fed-span.ts`).
 * - `totals`: what it comes to, counted from the hook records alone by rules written anew (`totals.ts`). It shares no code
 *   with the plugin, so a sum that is wrong in both would have to be thought wrong twice.
 *
 * What the two do not say: costs, which spans carry by `prices` (a server that shows some has its own, see
 * `totals.byModel`); and that a turn which stays open, because its host fell silent, is ended by `shutdown` at the latest:
 * while the plugin is left open, `hermes.sessions` is `totals.overall.turns - stats.turnsOpen`.
 *
 * `treeText` (`tree-text.ts`) makes comparable text of `spans` and of what a server answers.
 */

import type { PluginOptions, PluginStats } from '../../../src/index.ts'
import { createPluginIn } from '../../../src/plugin/create-plugin.ts'
import { AGENTS_SCENARIO, agentsScenario } from './dressed.ts'
import { type FedSpan, spansOfFiles } from './fed-span.ts'
import { GUARDED_SCENARIO, guardedScenario } from './guarded.ts'
import { recordedScenarios } from './recorded.ts'
import { onTimeline } from './timeline.ts'
import { type Totals, totalsOf } from './totals.ts'
import type { WorkloadRecord } from './workload-record.ts'

export type { FedSpan } from './fed-span.ts'
export type { Totals } from './totals.ts'
export { type TreeSpan, treeSpan, treeText } from './tree-text.ts'

export interface FeedOptions {
  /** A scratch directory: the trace log is written below it. */
  readonly home: string
  /** Backends, Prometheus, capture: what a user would configure. */
  readonly config: Omit<PluginOptions, 'tracerProvider' | 'meterProvider'>
  /** Only these: `pi`, `pi/basic`, `recordings`, `generated`. Default: all. */
  readonly scenarios?: readonly string[]
  /** Leaves the plugin open, to be scraped; then `shutdown` is the caller's. */
  readonly keepOpen?: boolean
}

export interface Fed {
  readonly spans: readonly FedSpan[]
  readonly totals: Totals
  readonly records: readonly WorkloadRecord[]
  readonly stats: PluginStats
}

/** `spans` are those that have ended so far; `shutdown` ends the rest and resolves to all of them. */
export interface OpenFed extends Fed {
  shutdown(): Promise<Fed>
}

const PATIENCE_MILLIS = 60_000
/** More than the workload has spans: nothing may be dropped for being fed faster than it happened. */
const QUEUE_SPANS = 50_000

/** Of the model that no list knows. */
const PRICES = { 'custom/*': { input: 0.1, output: 0.2 } } as const

/** The records of the workload, the newest of them some minutes before `now`. */
export async function workload(
  scenarios?: readonly string[],
  now: number = Date.now(),
): Promise<readonly WorkloadRecord[]> {
  const isWanted = (name: string): boolean =>
    scenarios === undefined || scenarios.some(wanted => name === wanted || name.startsWith(`${wanted}/`))
  // Far apart, as what grows is only seen between two looks at it.
  const [first = [], last = []] = isWanted(GUARDED_SCENARIO) ? [1, 2].map(ordinal => [guardedScenario(ordinal)]) : []
  const recorded = [...first, ...(await recordedScenarios(isWanted)), ...last]
  const atOnce = isWanted(AGENTS_SCENARIO) ? [agentsScenario()] : []
  if (recorded.length + atOnce.length === 0) throw new Error(`no scenario is called ${scenarios?.join(', ')}`)
  return onTimeline(recorded, atOnce, now)
}

export async function feedWorkload(options: FeedOptions & { readonly keepOpen: true }): Promise<OpenFed>
export async function feedWorkload(options: FeedOptions): Promise<Fed>
export async function feedWorkload(options: FeedOptions): Promise<Fed | OpenFed> {
  const records = await workload(options.scenarios)
  const totals = totalsOf(records)
  const config: PluginOptions = {
    host: 'workload',
    force_flush_on_session_end: false,
    force_flush_wait_ms: PATIENCE_MILLIS,
    span_batch_max_queue_size: QUEUE_SPANS,
    prices: PRICES,
    // Everything is compared, so everything is sent.
    keep: { hold: false },
    ...options.config,
    local_log: true,
  }
  // The records' own time counts, and nothing of this machine is configured.
  const plugin = createPluginIn(config, { env: {}, home: options.home, isReplay: true })
  for (const { hook, payload, meta } of records) void plugin.emitUntyped(hook, payload, meta)
  await plugin.flush()
  const account = (): Fed => {
    const stats = plugin.stats()
    assertNothingLost(stats)
    return { spans: spansOfFiles(stats.traceFiles), totals, records, stats }
  }
  const shutdown = async (): Promise<Fed> => {
    await plugin.shutdown()
    return account()
  }
  return options.keepOpen === true ? { ...account(), shutdown } : shutdown()
}

/** @throws when a record failed, or a span was dropped, is still queued, or has still to be delivered */
function assertNothingLost({ hooks, backends }: PluginStats): void {
  if (hooks.error > 0) throw new Error(`${hooks.error} records failed`)
  for (const { name, dropped, queued, spooled, spoolBytes, lastError } of backends) {
    if (dropped + queued + spooled + spoolBytes === 0) continue
    const left = JSON.stringify({ dropped, queued, spooled, spoolBytes })
    throw new Error(`${name} did not get everything: ${left}${lastError === undefined ? '' : `, ${lastError}`}`)
  }
}
