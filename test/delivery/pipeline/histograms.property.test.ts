import { type Attributes, type Histogram, type MeterProvider, ValueType } from '@opentelemetry/api'
import {
  type AggregationOption,
  AggregationTemporality,
  AggregationType,
  MetricReader,
  MeterProvider as SdkMeterProvider,
} from '@opentelemetry/sdk-metrics'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createMeterProvider } from '../../../src/delivery/pipeline/providers.ts'
import { PlainResource } from '../../../src/delivery/trace-log/plain-resource.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'

const { CUMULATIVE, DELTA } = AggregationTemporality
const RESOURCE = new PlainResource({ 'service.name': 'test' })
const LIMIT = 6
const BUCKETS = { 'a.first': [1, 10, 100], 'b.second': [], 'c.third': [0.5] }
type Name = keyof typeof BUCKETS

class Reader extends MetricReader {
  constructor(temporality: AggregationTemporality, aggregation?: AggregationOption) {
    super({
      aggregationTemporalitySelector: () => temporality,
      cardinalitySelector: () => LIMIT,
      ...(aggregation && { aggregationSelector: () => aggregation }),
    })
  }
  protected onForceFlush(): Promise<void> {
    return Promise.resolve()
  }
  protected onShutdown(): Promise<void> {
    return Promise.resolve()
  }
}

/** Counters around histograms, as the core creates them. The counter is observed, and records a point when it is. */
class Recorder {
  readonly #histograms = new Map<Name, Histogram>()
  readonly #readers: readonly Reader[]
  #observed = 0

  constructor(readers: readonly Reader[], provider: MeterProvider) {
    this.#readers = readers
    const meter = provider.getMeter('hookspan', '1', { schemaUrl: 'https://example.com/schema' })
    for (const [name, explicitBucketBoundaries] of Object.entries(BUCKETS)) {
      const advice = { explicitBucketBoundaries }
      const options = { unit: 'ms', description: `of ${name}`, valueType: ValueType.DOUBLE, advice }
      this.#histograms.set(name as Name, meter.createHistogram(name, options))
      meter.createObservableCounter(`${name}.calls`).addCallback(result => {
        this.#observed++
        result.observe(this.#observed, { name })
        this.record('c.third', this.#observed, { source: 'callback' })
      })
    }
  }

  record(name: Name, value: number, labels: Attributes): void {
    this.#histograms.get(name)?.record(value, labels)
  }

  async collect(reader: number): Promise<unknown> {
    const collected = await this.#readers[reader]?.collect()
    return structuredClone(collected?.resourceMetrics.scopeMetrics)
  }
}

function both(temporalities: readonly AggregationTemporality[], aggregation?: AggregationOption): readonly Recorder[] {
  const [ours, theirs] = [1, 2].map(() => temporalities.map(temporality => new Reader(temporality, aggregation)))
  return [
    new Recorder(ours ?? [], createMeterProvider(RESOURCE, ours ?? []).meterProvider),
    new Recorder(theirs ?? [], new SdkMeterProvider({ resource: RESOURCE, readers: theirs ?? [] })),
  ]
}

const point = fc.record({
  name: fc.constantFrom<Name>('a.first', 'b.second', 'c.third'),
  value: fc.oneof(fc.constantFrom(0, 0.5, 1, 10, 100, 100.1, 1e9), fc.double({ noNaN: true, min: 0, max: 1000 })),
  labels: fc.constantFrom<Attributes>(
    {},
    { tool: 'bash', outcome: 'ok' },
    { outcome: 'ok', tool: 'bash' },
    { tool: 'bash' },
    { tool: 'grep', outcome: 'ok' },
    { outcome: 'bash' },
    { n: 1 },
    { n: '1' },
    { list: ['a', 'b'] },
    { tool: '' },
  ),
  afterMillis: fc.integer({ min: 0, max: 2500 }),
})
const collection = fc.record({ reader: fc.nat(1), afterMillis: fc.integer({ min: 0, max: 2500 }) })
type Step =
  | { readonly name: Name; readonly value: number; readonly labels: Attributes; readonly afterMillis: number }
  | { readonly reader: number; readonly afterMillis: number }
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof({ weight: 6, arbitrary: point }, { weight: 1, arbitrary: collection }),
  {
    maxLength: 60,
  },
)

async function expectEqual(recorders: readonly Recorder[], given: readonly Step[]): Promise<void> {
  for (const step of [...given, { reader: 0, afterMillis: 1 }, { reader: 1, afterMillis: 1 }]) {
    vi.advanceTimersByTime(step.afterMillis)
    if ('name' in step) for (const recorder of recorders) recorder.record(step.name, step.value, step.labels)
    else {
      const [ours, theirs] = await Promise.all(recorders.map(recorder => recorder.collect(step.reader)))
      expect(ours).toEqual(theirs)
    }
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

test('collects the metrics that the SDK collects, for readers of either temporality', async () => {
  const temporalities = fc.constantFrom([CUMULATIVE, DELTA], [DELTA, CUMULATIVE], [CUMULATIVE, CUMULATIVE])
  const property = fc.asyncProperty(temporalities, steps, async (chosen, given) => expectEqual(both(chosen), given))
  await fc.assert(property, { numRuns: times(40, 150) })
})

test('leaves the histograms to the SDK if a reader selects their aggregation', async () => {
  const exponential = { type: AggregationType.EXPONENTIAL_HISTOGRAM } as const
  const property = fc.asyncProperty(steps, given => expectEqual(both([CUMULATIVE, DELTA], exponential), given))
  await fc.assert(property, { numRuns: times(2, 20) })
})
