import type { Context, Span, SpanContext, SpanOptions, Tracer, TracerOptions, TracerProvider } from '@opentelemetry/api'
import type { IdGenerator, ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { RecordedSpan, type SpanSettings } from '../trace-log/index.ts'
import { api, isTracingSuppressed } from './sdk.ts'
import { randomIds } from './span-id-generator.ts'
import type { SpanListener } from './span-processors.ts'

const INTERNAL = 0
const SAMPLED = 1
const TRACE_ID_CHARS = 32
const HASH_CHARS = 8
const MAX_HASH = 0xffffffff

export interface OwnTracerProviderOptions extends Pick<SpanSettings, 'attributeCountLimit' | 'partCountLimit'> {
  readonly resource: ReadableSpan['resource']
  readonly spanProcessors: readonly SpanListener[]
  readonly idGenerator: IdGenerator | undefined
  readonly sampleRate: number | undefined
}

/** Creates `RecordedSpan`s by the rules of the SDK, for span processors of ours alone. */
export class OwnTracerProvider implements TracerProvider {
  readonly #options: OwnTracerProviderOptions

  constructor(options: OwnTracerProviderOptions) {
    this.#options = options
  }

  getTracer(name: string, version?: string, options?: TracerOptions): Tracer {
    return new OwnTracer({ name, version, schemaUrl: options?.schemaUrl } as SpanSettings['scope'], this.#options)
  }
}

class OwnTracer implements Tracer {
  readonly #ids: IdGenerator
  readonly #processors: readonly SpanListener[]
  readonly #settings: SpanSettings
  readonly #hashLimit: number

  constructor(scope: SpanSettings['scope'], options: OwnTracerProviderOptions) {
    const { resource, attributeCountLimit, partCountLimit, spanProcessors } = options
    this.#ids = options.idGenerator ?? randomIds
    this.#processors = spanProcessors
    this.#hashLimit = hashLimitOf(options.sampleRate)
    this.#settings = { resource, scope, attributeCountLimit, partCountLimit, processors: spanProcessors }
  }

  startSpan(name: string, options: SpanOptions = {}, given: Context = api().context.active()): Span {
    const { trace, INVALID_SPAN_CONTEXT, isSpanContextValid } = api()
    if (isTracingSuppressed(given)) return trace.wrapSpanContext(INVALID_SPAN_CONTEXT)
    const context = options.root ? trace.deleteSpan(given) : given
    const found = trace.getSpanContext(context)
    const parent = found !== undefined && isSpanContextValid(found) ? found : undefined
    // In this order: see `SpanIdGenerator`.
    const spanId = this.#ids.generateSpanId()
    const traceId = parent?.traceId ?? this.#ids.generateTraceId()
    const traceFlags = this.#isSampled(parent, traceId) ? SAMPLED : 0
    const traceState = parent?.traceState
    const spanContext: SpanContext = { traceId, spanId, traceFlags, ...(traceState && { traceState }) }
    if (traceFlags === 0) return trace.wrapSpanContext(spanContext)
    const { kind = INTERNAL, links, attributes, startTime } = options
    const span = new RecordedSpan(this.#settings, { name, kind, context: spanContext, parent, startTime })
    if (links) span.addLinks(links)
    if (attributes) span.setAttributes(attributes)
    for (const processor of this.#processors) processor.onStart(span, context)
    return span
  }

  startActiveSpan<Run extends (span: Span) => unknown>(name: string, ...of: unknown[]): ReturnType<Run> {
    const run = of.at(-1) as Run
    const [options, given] = of.slice(0, -1) as [SpanOptions?, Context?]
    const { context, trace } = api()
    const parent = given ?? context.active()
    const span = this.startSpan(name, options, parent)
    return context.with(trace.setSpan(parent, span), run as (span: Span) => ReturnType<Run>, undefined, span)
  }

  /** The parent decides. A root is sampled by its trace id, like the SDK's `TraceIdRatioBasedSampler` does. */
  #isSampled(parent: SpanContext | undefined, traceId: string): boolean {
    if (parent === undefined && this.#hashLimit > MAX_HASH) return true
    return parent ? (parent.traceFlags & SAMPLED) !== 0 : hashOf(traceId) < this.#hashLimit
  }
}

function hashLimitOf(rate = 1): number {
  return rate >= 1 ? MAX_HASH + 1 : Math.floor(Math.max(0, rate) * MAX_HASH)
}

function hashOf(traceId: string): number {
  let hash = 0
  for (let at = 0; at < TRACE_ID_CHARS; at += HASH_CHARS) {
    hash = (hash ^ Number.parseInt(traceId.slice(at, at + HASH_CHARS), 16)) >>> 0
  }
  return hash
}
