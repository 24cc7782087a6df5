import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'
import { BackOff } from '../../../src/delivery/pipeline/back-off.ts'
import type { ExportResult, SpanSink } from '../../../src/delivery/pipeline/delivery.ts'
import { DeliveryReport } from '../../../src/delivery/pipeline/delivery-report.ts'
import type { BatchSettings } from '../../../src/delivery/pipeline/settings.ts'
import { SpanQueue } from '../../../src/delivery/pipeline/span-queue.ts'
import { LossLog } from '../../../src/delivery/trace-log/losses.ts'
import type { LogOptions } from '../../../src/delivery/trace-log/segments.ts'
import type { LocalLogSettings } from '../../../src/delivery/trace-log/settings.ts'
import { type SpanLine, spansOf } from '../../../src/delivery/trace-log/span-line.ts'
import { Store } from '../../../src/delivery/trace-log/store.ts'
import { Lines, MARKS } from '../pipeline/pipeline-fixture.ts'

export type Answer = (spans: readonly string[]) => ExportResult

export const TAKEN: Answer = () => ({ lost: 0 })
export const status =
  (code: number, retryAfterMillis?: number): Answer =>
  spans => ({
    lost: spans.length,
    failure: { kind: 'status', status: code },
    ...(retryAfterMillis === undefined ? {} : { retryAfterMillis }),
  })

/** A server that answers as a test wants it to, and remembers. */
export class FakeServer implements SpanSink {
  answer: Answer
  /** Names of the spans of each request, taken or not. */
  readonly requests: string[][] = []
  readonly taken: string[] = []

  constructor(answer: Answer = TAKEN) {
    this.answer = answer
  }

  async export(lines: readonly SpanLine[]): Promise<ExportResult> {
    await new Promise(setImmediate)
    const names = spansOf(lines).map(span => span.name)
    const delivery = this.answer(names)
    this.requests.push(names)
    if (delivery.failure === undefined) this.taken.push(...names)
    return delivery
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

const FACTS = { type: 'otlp', urls: {}, protocol: 'http/json', credentials: '', defaultEndpoint: undefined } as const

/** Everything from a span to its servers, with a trace log in a scratch directory and short pauses. */
export interface Scene {
  readonly directory: string
  readonly store: Store
  readonly queues: readonly SpanQueue[]
  readonly lines: Lines
  record(...names: string[]): void
  start(name: string): { end(): void; spanContext(): { readonly traceId: string; readonly spanId: string } }
  flush(): Promise<void>
  close(): Promise<void>
  /** Checkpoints that are left. */
  spool(): string[]
}

export interface SceneOptions {
  readonly directory?: string
  readonly batch?: Partial<BatchSettings>
  readonly maxBytes?: number
  readonly pauseScale?: number
}

const BATCH = {
  maxQueueSize: 2048,
  scheduleDelayMillis: 5,
  maxExportBatchSize: 128,
  // None of these servers is slow: it is the machine, if anything.
  exportTimeoutMillis: 60_000,
}

export function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'hookspan-log-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** `servers` by the names of their backends. */
export function openScene(servers: Readonly<Record<string, SpanSink>>, options: SceneOptions = {}): Scene {
  const { directory = scratch(), pauseScale = 0.005, maxBytes = 1 << 28 } = options
  const lines = new Lines()
  const batch = { ...BATCH, ...options.batch }
  const byName = new Map<string, SpanQueue>()
  for (const [name, sink] of Object.entries(servers)) {
    const report = new DeliveryReport({ ...FACTS, name, isKept: true }, lines)
    byName.set(name, new SpanQueue({ sink, batch, report, log: lines, backOff: new BackOff(pauseScale) }))
  }
  const queues = [...byName.values()]
  const settings = { directory, maxBytes, maxAgeHours: 1000, flushMillis: 5 }
  const store = openStore(settings, new LossLog(directory), { batch, consumers: queues, queues: byName, report: lines })
  const tracer = new BasicTracerProvider({ spanProcessors: [store.traceLog] }).getTracer('test')
  const flush = async (): Promise<void> => {
    await store.traceLog.forceFlush()
    await Promise.all(queues.map(queue => queue.forceFlush()))
  }
  return {
    directory,
    store,
    queues,
    lines,
    flush,
    record: (...names) => {
      for (const name of names) tracer.startSpan(name).end()
    },
    start: name => tracer.startSpan(name),
    async close() {
      await store.traceLog.shutdown()
      await Promise.all(queues.map(queue => queue.shutdown()))
      await Promise.all(queues.map(queue => queue.abandon()))
      await store.stop()
      store.release()
    },
    spool: () => readdirSync(join(directory, 'spool')),
  }
}

/** A trace log alone, unless collaborators are given. */
export function openStore(
  settings: LocalLogSettings,
  losses: Pick<LossLog, 'note' | 'save'> = new LossLog(settings.directory),
  { queues = new Map(), report = new Lines(), ...more }: Partial<LogOptions> = {},
): Store {
  return new Store({
    settings,
    batch: BATCH,
    marks: MARKS,
    consumers: [],
    queues,
    destinations: new Map([...queues.keys()].map(name => [name, `where ${name} is`])),
    deliveries: new DeliveryReport({ ...FACTS, name: 'local_log', type: 'local_log' }, report),
    report,
    losses: losses as LossLog,
    ...more,
  })
}

export function names(count: number, prefix = 'span'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix} ${index}`)
}
