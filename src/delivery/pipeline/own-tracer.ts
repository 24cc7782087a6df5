import type { Context, Span, SpanContext, SpanOptions, Tracer, TracerProvider } from '@opentelemetry/api'
import type { IdGenerator } from '@opentelemetry/sdk-trace-base'
import { RecordedSpan, type SpanSettings } from '../trace-log/index.ts'
import { api, isTracingSuppressed } from './sdk.ts'
import { randomIds } from './span-id-generator.ts'
import type { SpanListener } from './span-processors.ts'

const INTERNAL = 0
const SAMPLED = 1
const TRACE_ID_CHARS = 32
const HASH_CHARS = 8
const MAX_HASH = 0xffffffff

export interface OwnTracerProviderOptions extends Omit<SpanSettings, 'scope' | 'processors'> {
  readonly spanProcessors: readonly SpanListener[]
  readonly idGenerator: IdGenerator | undefined
  readonly sampleRate: number | undefined
}

/** The part of a provider that hookspan uses. */
export interface OwnTracerProvider {
  getTracer(...of: Parameters<TracerProvider['getTracer']>): Pick<Tracer, 'startSpan'>
}

/** Creates `RecordedSpan`s by the rules of the SDK, for span processors of ours alone. */
export function ownTracerProvider(options: OwnTracerProviderOptions): OwnTracerProvider {
  return {
    getTracer: (name, version, { schemaUrl } = {}) =>
      new OwnTracer({ name, version, schemaUrl } as SpanSettings['scope'], options),
  }
}

class OwnTracer implements Pick<Tracer, 'startSpan'> {
  readonly #ids: IdGenerator
  readonly #settings: SpanSettings
  readonly #hashLimit: number

  constructor(scope: SpanSettings['scope'], options: OwnTracerProviderOptions) {
    const { idGenerator, spanProcessors: processors, sampleRate = 1, ...limits } = options
    this.#ids = idGenerator ?? randomIds
    this.#hashLimit = sampleRate >= 1 ? MAX_HASH + 1 : Math.floor(Math.max(0, sampleRate) * MAX_HASH)
    this.#settings = { ...limits, scope, processors }
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
    const span = new RecordedSpan(this.#settings, name, kind, spanContext, parent, startTime)
    if (links) span.addLinks(links)
    if (attributes) span.setAttributes(attributes)
    for (const processor of this.#settings.processors) processor.onStart(span, context)
    return span
  }

  /** The parent decides. A root is sampled by its trace id, like the SDK's `TraceIdRatioBasedSampler` does. */
  #isSampled(parent: SpanContext | undefined, traceId: string): boolean {
    if (parent === undefined && this.#hashLimit > MAX_HASH) return true
    return parent ? (parent.traceFlags & SAMPLED) !== 0 : hashOf(traceId) < this.#hashLimit
  }
}

function hashOf(traceId: string): number {
  let hash = 0
  for (let at = 0; at < TRACE_ID_CHARS; at += HASH_CHARS) {
    hash = (hash ^ Number.parseInt(traceId.slice(at, at + HASH_CHARS), 16)) >>> 0
  }
  return hash
}
