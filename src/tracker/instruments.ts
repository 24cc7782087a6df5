import type { Histogram, Meter, ObservableResult } from '@opentelemetry/api'
import type { MetricKey, NextMetricKey } from '../contract/semconv/index.ts'
import { CLOSED_LABELS, GEN_AI_NEXT_METRIC, METRIC, resolveNamespace } from '../contract/semconv/index.ts'
import { INSTRUMENTS, type InstrumentRow, NEXT_INSTRUMENTS } from './instrument-table.ts'
import type { CoreOptions, Gauge } from './options.ts'
import type { MetricPoint } from './spans/span-definition.ts'

type Labels = MetricPoint['labels']
type InstrumentOptions = Pick<
  CoreOptions,
  'namespace' | 'emitGenAiMetrics' | 'catchUp' | 'isReadAgain' | 'openMeter'
> & {
  readonly attributeOptions: Pick<CoreOptions['attributeOptions'], 'nextMetrics'>
}
type InstrumentKey = MetricPoint['instrument']

/** Distinct values per open-ended label. */
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

/** Keeps metrics low-cardinality: each label keeps its first `limit` values, the rest become `other`. */
export class LabelLimit {
  readonly #limit: number
  readonly #seen = new Map<string, Set<string>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Returns the labels themselves if every value is within the limit, so that the common case allocates nothing. */
  apply(labels: Labels): Labels {
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
    if (CLOSED_LABELS.has(key)) return true
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

const METRIC_NAMES: Readonly<Record<InstrumentKey, string>> = { ...METRIC, ...GEN_AI_NEXT_METRIC }

/** The instruments of a meter that may follow later: loading the metrics SDK must not delay the first turn. */
export class Instruments {
  readonly #rows: readonly (readonly [InstrumentKey, InstrumentRow])[]
  readonly #counters = new Map<InstrumentKey, Counter>()
  readonly #histograms = new Map<InstrumentKey, Histogram>()
  readonly #limit = new LabelLimit(LABEL_VALUES_LIMIT)
  readonly #options: InstrumentOptions
  readonly #gauges: CoreOptions['gauges']
  /** Points of histograms until there is a meter. */
  #pending: (MetricPoint & { readonly value: number })[] | undefined = []

  constructor(options: InstrumentOptions, gauges: CoreOptions['gauges']) {
    this.#options = options
    this.#gauges = gauges
    const rows = Object.entries(INSTRUMENTS) as [MetricKey, InstrumentRow][]
    const next = Object.entries(options.attributeOptions.nextMetrics ? NEXT_INSTRUMENTS : {})
    this.#rows = [
      ...rows.filter(([key]) => options.emitGenAiMetrics || !METRIC[key].startsWith('gen_ai.')),
      ...(next as [NextMetricKey, InstrumentRow][]),
    ]
    for (const [key, { kind }] of this.#rows) if (kind === 'counter') this.#counters.set(key, new Counter())
  }

  attach(meter: Meter): void {
    for (const [key, row] of this.#rows) this.#build(meter, key, row)
    const pending = this.#pending ?? []
    this.#pending = undefined
    for (const { instrument, value, labels } of pending) this.#histograms.get(instrument)?.record(value, labels)
  }

  record(points: readonly MetricPoint[]): void {
    for (const { instrument, value, labels } of points) this.add(instrument, value, labels)
  }

  add(instrument: InstrumentKey, value: number | undefined, labels: Labels): void {
    if (
      value === undefined ||
      !(value >= 0 && value < Number.POSITIVE_INFINITY) ||
      this.#options.isReadAgain?.() === true
    )
      return
    const limited = this.#limit.apply(labels)
    const counter = this.#counters.get(instrument)
    if (counter !== undefined) counter.add(value, limited)
    else if (this.#pending === undefined) this.#histograms.get(instrument)?.record(value, limited)
    else if (this.#pending.push({ instrument, value, labels: limited }) >= MAX_PENDING_POINTS)
      this.#options.openMeter?.()
  }

  #build(meter: Meter, key: InstrumentKey, row: InstrumentRow): void {
    const { unit, description } = row
    const name = resolveNamespace(METRIC_NAMES[key], this.#options.namespace)
    const gauge = this.#gauges[key as MetricKey]
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
