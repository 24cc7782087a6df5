import type { Attributes, AttributeValue, Histogram, HrTime, Meter, MeterProvider } from '@opentelemetry/api'
import type {
  CollectionResult,
  HistogramMetricData,
  IMetricReader,
  MetricData,
  MetricProducer,
} from '@opentelemetry/sdk-metrics'
import { metricsSdk } from './sdk.ts'

type Point = HistogramMetricData['dataPoints'][number]
type Descriptor = HistogramMetricData['descriptor']
type Scope = CollectionResult['resourceMetrics']['scopeMetrics'][number]['scope']
type InstrumentOptions = Parameters<Meter['createHistogram']>[1]

/** Beyond this number of label sets in their given order, their keys are derived anew. */
const MAX_KNOWN_KEYS = 2000
/** `ValueType.DOUBLE` of the API. */
const DOUBLE = 1
const OVERFLOW: Attributes = { 'otel.metric.overflow': true }
const CREATORS = [
  'createGauge',
  'createCounter',
  'createUpDownCounter',
  'createObservableGauge',
  'createObservableCounter',
  'createObservableUpDownCounter',
] as const

/**
 * The histograms of one scope of a meter provider of the SDK, summed here and added to each collection. In the SDK a point costs
 * several times as much: it sorts and stringifies the labels each time. Temporality, limits, start times and order are those of
 * the SDK.
 */
export class Histograms {
  readonly #readers: readonly IMetricReader[]
  readonly #histograms = new Map<string, OwnHistogram>()
  /** Instruments of all kinds in the order in which they were created. */
  readonly #names: string[] = []
  #scope: Scope | undefined

  constructor(readers: readonly IMetricReader[]) {
    this.#readers = readers
  }

  /** False if a reader wants another aggregation than the buckets of the instruments. */
  static suit(readers: readonly IMetricReader[]): boolean {
    const { AggregationType, InstrumentType } = metricsSdk()
    return readers.every(reader => reader.selectAggregation(InstrumentType.HISTOGRAM).type === AggregationType.DEFAULT)
  }

  readers(): IMetricReader[] {
    return this.#readers.map((reader, at) => ({
      setMetricProducer: producer => reader.setMetricProducer(this.#producerFor(at, producer)),
      selectAggregation: type => reader.selectAggregation(type),
      selectAggregationTemporality: type => reader.selectAggregationTemporality(type),
      selectCardinalityLimit: type => reader.selectCardinalityLimit(type),
      collect: options => reader.collect(options),
      forceFlush: options => reader.forceFlush(options),
      shutdown: options => reader.shutdown(options),
    }))
  }

  /** The scope of the first meter is ours, and the only one with histograms. */
  meterProvider(provider: MeterProvider): MeterProvider {
    return {
      getMeter: (name, version = '', options = {}) => {
        const meter = provider.getMeter(name, version, options)
        this.#scope ??= { name, version, schemaUrl: options.schemaUrl } as Scope
        return name === this.#scope.name ? this.#meter(meter) : meter
      },
    }
  }

  #meter(meter: Meter): Meter {
    const own: Meter = Object.create(meter)
    for (const create of CREATORS) {
      own[create] = (name: string, options: InstrumentOptions) => {
        this.#names.push(name)
        return meter[create](name, options) as never
      }
    }
    own.createHistogram = (name, options) => this.#createHistogram(name, options)
    return own
  }

  #producerFor(reader: number, producer: MetricProducer): MetricProducer {
    return {
      collect: async options => {
        const at = hrTimeNow()
        // First: its callbacks catch up with pending records.
        const collected = await producer.collect(options)
        const { scopeMetrics } = collected.resourceMetrics
        const metrics = [...this.#histograms.values()].flatMap(histogram => histogram.collect(reader, at) ?? [])
        const scope = this.#scope
        if (metrics.length === 0 || scope === undefined) return collected
        const found = scopeMetrics.find(each => each.scope.name === scope.name)
        const placeOf = ({ descriptor }: MetricData): number => this.#names.indexOf(descriptor.name)
        const inOrder = [...(found?.metrics ?? []), ...metrics].sort((one, other) => placeOf(one) - placeOf(other))
        if (found) found.metrics = inOrder
        else scopeMetrics.push({ scope, metrics: inOrder })
        return collected
      },
    }
  }

  #createHistogram(name: string, options: InstrumentOptions): Histogram {
    const known = this.#histograms.get(name)
    if (known) return known
    const { description = '', unit = '', valueType = DOUBLE, advice = {} } = options ?? {}
    // All fields of the descriptors that the SDK passes on.
    const descriptor = { name, type: metricsSdk().InstrumentType.HISTOGRAM, description, unit, valueType, advice }
    const boundaries = [...(advice.explicitBucketBoundaries ?? [])].sort((one, other) => one - other)
    const histogram = new OwnHistogram(descriptor, boundaries, this.#readers)
    this.#names.push(name)
    this.#histograms.set(name, histogram)
    return histogram
  }
}

class OwnHistogram implements Histogram {
  readonly #descriptor: Descriptor
  readonly #boundaries: number[]
  readonly #series: readonly HistogramSeries[]
  /** Key by the labels in their given order: the same labels in another order are the same series. */
  readonly #keys = new Map<string, string>()

  constructor(descriptor: Descriptor, boundaries: number[], readers: readonly IMetricReader[]) {
    this.#descriptor = descriptor
    this.#boundaries = boundaries
    this.#series = readers.map(reader => new HistogramSeries(reader, boundaries))
  }

  record(value: number, labels: Attributes = {}): void {
    if (!(value >= 0)) return
    const key = this.#keyOf(labels)
    const boundaries = this.#boundaries
    let bucket = 0
    while (bucket < boundaries.length && value > (boundaries[bucket] as number)) bucket++
    for (const series of this.#series) series.record(key, labels, value, bucket)
  }

  collect(reader: number, at: HrTime): HistogramMetricData | undefined {
    const series = this.#series[reader] as HistogramSeries
    const dataPoints = series.collect(at)
    if (dataPoints.length === 0) return undefined
    const { HISTOGRAM: dataPointType } = metricsSdk().DataPointType
    return { descriptor: this.#descriptor, aggregationTemporality: series.temporality, dataPointType, dataPoints }
  }

  #keyOf(labels: Attributes): string {
    let given = ''
    for (const name in labels) {
      const value = labels[name]
      if (typeof value !== 'string') return keyOf(labels)
      given += `${name}\u0000${value}\u0000`
    }
    let key = this.#keys.get(given)
    if (key === undefined) {
      if (this.#keys.size >= MAX_KNOWN_KEYS) this.#keys.clear()
      key = keyOf(labels)
      this.#keys.set(given, key)
    }
    return key
  }
}

function keyOf(labels: Attributes): string {
  const pairs = Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify(pairs satisfies [string, AttributeValue | undefined][])
}

interface Sum {
  readonly labels: Attributes
  startTime: HrTime
  count: number
  sum: number
  min: number
  max: number
  readonly counts: number[]
}

/** What one reader has to collect of a histogram. Collected sums do not change any more. */
class HistogramSeries {
  readonly #boundaries: number[]
  readonly #limit: number
  readonly temporality: HistogramMetricData['aggregationTemporality']
  /** Since the last collection, and what that collection returned. */
  #active = new Map<string, Sum>()
  #collected = new Map<string, Sum>()
  #collectedAt: HrTime | undefined

  constructor(reader: IMetricReader, boundaries: number[]) {
    const { HISTOGRAM } = metricsSdk().InstrumentType
    this.#boundaries = boundaries
    this.#limit = reader.selectCardinalityLimit(HISTOGRAM) - 1
    this.temporality = reader.selectAggregationTemporality(HISTOGRAM)
  }

  record(key: string, labels: Attributes, value: number, bucket: number): void {
    const sum = this.#active.get(key) ?? this.#open(key, labels)
    sum.count++
    sum.sum += value
    if (value < sum.min) sum.min = value
    if (value > sum.max) sum.max = value
    sum.counts[bucket] = (sum.counts[bucket] as number) + 1
  }

  collect(at: HrTime): Point[] {
    const active = this.#active
    this.#active = new Map()
    if (this.#collectedAt === undefined) this.#collected = active
    else if (this.temporality === metricsSdk().AggregationTemporality.CUMULATIVE) {
      for (const [key, sum] of active) this.#collected.set(key, sumOf(this.#collected.get(key), sum))
    } else {
      for (const key of this.#collected.keys()) {
        const sum = active.get(key)
        if (sum !== undefined) sum.startTime = this.#collectedAt
      }
      this.#collected = active
    }
    this.#collectedAt = at
    return Array.from(this.#collected.values(), ({ labels, startTime, count, sum, min, max, counts }) => ({
      attributes: labels,
      startTime,
      endTime: at,
      value: { min, max, sum, buckets: { boundaries: this.#boundaries, counts }, count },
    }))
  }

  #open(key: string, labels: Attributes): Sum {
    if (this.#active.size >= this.#limit && labels !== OVERFLOW) {
      const overflow = keyOf(OVERFLOW)
      return this.#active.get(overflow) ?? this.#open(overflow, OVERFLOW)
    }
    const counts = new Array<number>(this.#boundaries.length + 1).fill(0)
    const sum = { labels, startTime: hrTimeNow(), count: 0, sum: 0, min: Infinity, max: -Infinity, counts }
    this.#active.set(key, sum)
    return sum
  }
}

function sumOf(before: Sum | undefined, more: Sum): Sum {
  if (before === undefined) return more
  return {
    ...before,
    count: before.count + more.count,
    sum: before.sum + more.sum,
    min: Math.min(before.min, more.min),
    max: Math.max(before.max, more.max),
    counts: before.counts.map((count, at) => count + (more.counts[at] as number)),
  }
}

export function hrTimeNow(): HrTime {
  const millis = Date.now()
  return [Math.floor(millis / 1000), (millis % 1000) * 1_000_000]
}
