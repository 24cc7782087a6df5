import type { Histogram, Meter, ObservableResult } from '@opentelemetry/api'
import type { MetricKey, NextMetricKey } from '../contract/semconv/index.ts'
import { CLOSED_LABELS, GEN_AI_NEXT_METRIC, METRIC, resolveNamespace } from '../contract/semconv/index.ts'
import { INSTRUMENTS, type InstrumentRow, NEXT_INSTRUMENTS } from './instrument-table.ts'
import type { MetricPoint } from './spans/span-definition.ts'

type Labels = Readonly<Record<string, string>>

export interface InstrumentOptions {
  readonly namespace: string
  readonly emitGenAi: boolean
  readonly emitGenAiNext: boolean
  /** Distinct values per open-ended label, 0 = no limit. Default: 100. */
  readonly labelLimit?: number
  readonly catchUp?: (() => void) | undefined
  readonly isMuted?: (() => boolean) | undefined
  /** Calls `attach` before it returns. Called if too many points are waiting for a meter. */
  readonly openMeter?: (() => unknown) | undefined
}

const LABEL_VALUES_LIMIT = 100
/** Label sets per counter. Just below the limit of the SDK (2000), which silently merges those beyond it. */
const SERIES_LIMIT = 1900
const OVERFLOW: Labels = { overflow: 'true' }
const MAX_PENDING_POINTS = 1000

interface Series {
  readonly labels: Labels
  sum: number
}

/**
 * Sums counters in plain maps and reports them at collection. In the SDK a point with labels costs about as much as a
 * whole span, because it sorts and stringifies the labels each time. Histograms cannot be reported as sums through the API.
 */
class Counter {
  readonly #series = new Map<string, Series>()

  add(value: number, labels: Labels): void {
    const key = keyOf(labels)
    const series = this.#series.get(key)
    if (series !== undefined) series.sum += value
    else if (this.#series.size >= SERIES_LIMIT && labels !== OVERFLOW) this.add(value, OVERFLOW)
    else this.#series.set(key, { labels, sum: value })
  }

  observe(result: ObservableResult): void {
    for (const { labels, sum } of this.#series.values()) result.observe(sum, labels)
  }
}

function keyOf(labels: Labels): string {
  let key = ''
  for (const name in labels) key += `${labels[name]}\u0000`
  return key
}

const OTHER = 'other'

/**
 * Keeps metrics low-cardinality whatever hosts send: each label keeps its first `limit` values, the rest become
 * `other`. A limit of 0 means none.
 */
export class LabelLimit {
  readonly #limit: number
  readonly #seen = new Map<string, Set<string>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Returns the labels themselves if every value is within the limit, so that the common case allocates nothing. */
  apply(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    let limited: Record<string, string> | undefined
    for (const key in labels) {
      const value = labels[key] as string
      if (this.#admits(key, value)) continue
      limited ??= { ...labels }
      limited[key] = OTHER
    }
    return limited ?? labels
  }

  #admits(key: string, value: string): boolean {
    if (this.#limit === 0 || CLOSED_LABELS.has(key)) return true
    let seen = this.#seen.get(key)
    if (seen === undefined) {
      seen = new Set()
      this.#seen.set(key, seen)
    }
    if (seen.has(value)) return true
    if (seen.size >= this.#limit) return false
    seen.add(value)
    return true
  }
}

export type Gauge = (result: ObservableResult) => void

interface Instrument {
  readonly key: MetricKey | NextMetricKey
  readonly name: string
  readonly row: InstrumentRow
  readonly gauge: Gauge | undefined
}

/** The instruments of a meter that may follow later: loading the metrics SDK must not delay the first turn. */
export class Instruments {
  readonly #rows: Instrument[] = []
  readonly #counters = new Map<MetricKey | NextMetricKey, Counter>()
  readonly #histograms = new Map<MetricKey | NextMetricKey, Histogram>()
  readonly #limit: LabelLimit
  readonly #options: InstrumentOptions
  /** Points of histograms until there is a meter. */
  #pending: (MetricPoint & { readonly value: number })[] | undefined = []

  constructor(options: InstrumentOptions, gauges: Partial<Record<MetricKey, Gauge>>) {
    this.#limit = new LabelLimit(options.labelLimit ?? LABEL_VALUES_LIMIT)
    this.#options = options
    for (const [key, row] of Object.entries(INSTRUMENTS) as [MetricKey, InstrumentRow][]) {
      const name = resolveNamespace(METRIC[key], options.namespace)
      if (options.emitGenAi || !name.startsWith('gen_ai.')) this.#rows.push({ key, name, row, gauge: gauges[key] })
    }
    if (options.emitGenAiNext) {
      for (const [key, row] of Object.entries(NEXT_INSTRUMENTS) as [NextMetricKey, InstrumentRow][]) {
        this.#rows.push({ key, name: GEN_AI_NEXT_METRIC[key], row, gauge: undefined })
      }
    }
    for (const { key, row } of this.#rows) if (row.kind === 'counter') this.#counters.set(key, new Counter())
  }

  attach(meter: Meter): void {
    for (const instrument of this.#rows) this.#build(meter, instrument)
    const pending = this.#pending ?? []
    this.#pending = undefined
    for (const { instrument, value, labels } of pending) this.#histograms.get(instrument)?.record(value, labels)
  }

  record(points: readonly MetricPoint[]): void {
    for (const { instrument, value, labels } of points) this.add(instrument, value, labels)
  }

  add(instrument: MetricKey | NextMetricKey, value: number | undefined, labels: Labels): void {
    if (value === undefined || !(value >= 0 && value < Number.POSITIVE_INFINITY) || this.#options.isMuted?.() === true)
      return
    const limited = this.#limit.apply(labels)
    const counter = this.#counters.get(instrument)
    if (counter !== undefined) counter.add(value, limited)
    else if (this.#pending === undefined) this.#histograms.get(instrument)?.record(value, limited)
    else if (this.#pending.push({ instrument, value, labels: limited }) >= MAX_PENDING_POINTS)
      this.#options.openMeter?.()
  }

  #build(meter: Meter, { key, name, row, gauge }: Instrument): void {
    const { unit, description } = row
    const counter = this.#counters.get(key)
    if (row.kind === 'histogram') {
      const advice = { explicitBucketBoundaries: [...(row.buckets ?? [])] }
      this.#histograms.set(key, meter.createHistogram(name, { unit, description, advice }))
    } else if (counter !== undefined) {
      const observe = this.#caughtUp(gauge ?? (result => counter.observe(result)))
      meter.createObservableCounter(name, { unit, description }).addCallback(observe)
    } else if (gauge !== undefined) {
      const create = row.kind === 'gauge' ? 'createObservableGauge' : 'createObservableUpDownCounter'
      meter[create](name, { unit, description }).addCallback(this.#caughtUp(gauge))
    }
  }

  /** The first callback of a collection catches up. The other callbacks and the histograms are read after it. */
  #caughtUp(gauge: Gauge): Gauge {
    return result => {
      this.#options.catchUp?.()
      gauge(result)
    }
  }
}
