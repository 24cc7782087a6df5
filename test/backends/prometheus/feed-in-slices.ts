import { setTimeout as sleep } from 'node:timers/promises'
import type { Plugin, PluginOptions } from '../../../src/index.ts'
import { createPluginIn } from '../../../src/plugin/create-plugin.ts'
import type { PrometheusServer } from '../servers/prometheus.ts'
import { workload } from '../workload/feed.ts'
import { type Totals, totalsOf } from '../workload/totals.ts'
import type { WorkloadRecord } from '../workload/workload-record.ts'
import { until } from './until.ts'

/** The host of records that name none. */
export const HOST = 'workload'

export interface Sliced {
  readonly plugin: Plugin
  readonly records: readonly WorkloadRecord[]
  readonly totals: Totals
}

/** The sum over all series of an expression; 0 without any. */
export async function total(prometheus: PrometheusServer, expression: string): Promise<number> {
  const samples = await prometheus.query(`sum(${expression})`)
  return Number(samples[0]?.value[1] ?? 0)
}

export interface Feeding {
  readonly home: string
  readonly slices: number
  /** After each slice, for a graph that is to be looked at. */
  readonly pauseMillis?: number
}

/**
 * Feeds the workload as an agent does that has been running for a while: in slices, each of them seen by Prometheus before
 * the next one comes. A rate needs two samples.
 *
 * @returns the plugin, which is still open
 */
export async function feedInSlices(
  prometheus: PrometheusServer,
  config: PluginOptions,
  { home, slices, pauseMillis = 0 }: Feeding,
): Promise<Sliced> {
  const records = await workload()
  const keep = { hold: false }
  const options = { host: HOST, force_flush_on_session_end: false, span_batch_max_queue_size: 50_000, keep, ...config }
  const plugin = createPluginIn(options, { env: {}, home, isReplay: true })
  const size = Math.ceil(records.length / slices)
  for (let from = 0; from < records.length; from += size) {
    const slice = records.slice(from, from + size)
    for (const { hook, payload, meta } of slice) void plugin.emitUntyped(hook, payload, meta)
    await plugin.flush()
    const told = from + slice.length
    await until(
      () => total(prometheus, 'hookspan_hooks_total'),
      seen => (seen === told ? undefined : { told, seen }),
      'records that Prometheus knows of',
    )
    await sleep(pauseMillis)
  }
  return { plugin, records, totals: totalsOf(records) }
}
