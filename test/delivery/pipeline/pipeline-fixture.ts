import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api'
import type { BackendConfig } from '../../../src/delivery/backends/backend-config.ts'
import {
  createPipeline,
  type Pipeline,
  type PipelineSettings,
  type Reporter,
} from '../../../src/delivery/pipeline/index.ts'
import { afterwards } from '../../support/afterwards.ts'
import { OtlpSink, type SinkBehaviour } from '../../support/otlp-sink.ts'

export const PROTOCOLS = ['http/json', 'http/protobuf'] as const

/** A report that remembers. */
export class Lines implements Reporter {
  readonly warnings: string[] = []
  readonly errors: string[] = []
  readonly details: string[] = []

  warn(line: string): void {
    this.warnings.push(line)
  }

  error(line: string): void {
    this.errors.push(line)
  }

  debug(line: string): void {
    this.details.push(line)
  }

  /** What a person sees. */
  get said(): string[] {
    return [...this.warnings, ...this.errors]
  }
}

export const MARKS = {
  incomplete: 'hermes.span.incomplete',
  finalStatus: 'hermes.turn.final_status',
  spanKind: 'hermes.span.kind',
}

export function pipelineSettings(overrides: Partial<PipelineSettings> = {}): PipelineSettings {
  return {
    serviceName: 'test-agent',
    resourceAttributes: {},
    version: '1.2.3',
    namespace: 'hermes',
    marks: MARKS,
    backends: [],
    attributeCountLimit: 1024,
    batch: { maxQueueSize: 2048, scheduleDelayMillis: 1000, maxExportBatchSize: 128, exportTimeoutMillis: 10_000 },
    metricsIntervalMillis: 60_000,
    deterministicIds: false,
    flushWaitMillis: 1500,
    ...overrides,
  }
}

export function backend(type: string, endpoint: string | undefined, more: Partial<BackendConfig> = {}): BackendConfig {
  return {
    type: type as BackendConfig['type'],
    name: type,
    headers: {},
    options: {},
    ...(endpoint === undefined ? {} : { endpoint }),
    ...more,
  }
}

export async function startSink(behaviour?: SinkBehaviour): Promise<OtlpSink> {
  const sink = await OtlpSink.start(behaviour)
  afterwards(() => sink.stop())
  return sink
}

/** How long a flush waits for a server that never answers. */
export const QUICKLY = 200
/** And for one that answers, however busy this machine is. */
const PATIENTLY = 30_000

/** A pipeline that is shut down after the test. */
export function openPipeline(overrides: Partial<PipelineSettings>, lines: Lines = new Lines()): Pipeline {
  const pipeline = createPipeline(pipelineSettings({ flushWaitMillis: PATIENTLY, ...overrides }), lines)
  afterwards(() => pipeline.shutdown())
  return pipeline
}

export async function scratchDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'hookspan-pipeline-'))
  afterwards(() => rm(directory, { recursive: true, force: true }))
  return directory
}

export function startSpan(pipeline: Pipeline, name: string, parent?: Span): Span {
  const context = parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT
  return pipeline.tracerProvider.getTracer('test').startSpan(name, {}, context)
}

export function recordSpans(pipeline: Pipeline, ...names: string[]): void {
  for (const name of names) startSpan(pipeline, name).end()
}

export function countPoint(pipeline: Pipeline, name: string): void {
  pipeline.meterProvider.getMeter('test').createCounter(name).add(1)
}

/** A loopback URL where nothing ever listens: a port of those that only the system may open. */
export const DEAD_URL = 'http://127.0.0.1:2'

/** Ports below those that the system gives to connections. Another worker's are others: it may look at the same moment. */
const PORTS_OF_ONE = 300

/** A port that nobody has. */
export async function freePort(): Promise<number> {
  const first = 30_000 + PORTS_OF_ONE * (Number(process.env['VITEST_POOL_ID'] ?? 0) % 9)
  for (;;) {
    const port = first + Math.floor(Math.random() * PORTS_OF_ONE)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    await new Promise(resolve => server.close(resolve))
    return port
  }
}
