import type { Agent, ClientRequest } from 'node:http'
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { type SpanLine, spansOf, UNSERIALISABLE } from '../trace-log/index.ts'
import type { Delivery, SpanDelivery, SpanSink } from './delivery.ts'
import { codeOf, createAgent, type Exchange, exchange, failed } from './otlp-request.ts'
import { deliverBy, type OtlpTarget } from './otlp-sender.ts'
import { spanDelivery } from './otlp-sinks.ts'
import { exporterBase, traceExporter, transformer, untraced } from './sdk.ts'

/** A status that no client retries. */
const FINAL_STATUS = 400

/**
 * Sends traces as `http/json` through OpenTelemetry's own exporter if there is no log. Our agent watches its requests: the
 * exporter reports neither the status, nor the requested pause, nor the number of rejected spans.
 */
export class OtlpTraceExporterSink implements SpanSink {
  readonly #target: OtlpTarget
  readonly #agent: Agent
  readonly #exporter: OTLPTraceExporter
  /** The exchange of the next request that the agent sees. */
  #current: Exchange | undefined
  /** Resolves when the exporter has finished all exports. */
  #idle: Promise<void> = Promise.resolve()

  constructor(target: OtlpTarget) {
    this.#target = target
    this.#agent = createAgent(target.url, target.tls, request => this.#watch(request))
    this.#exporter = createExporter(target, this.#agent)
  }

  async export(lines: readonly SpanLine[], signal: AbortSignal): Promise<SpanDelivery> {
    const deadlineAt = performance.now() + this.#target.timeoutMillis
    const batch = [...spansOf(lines)]
    const delivery = await deliverBy(deadlineAt, signal, millis => this.#attempt(batch, millis, signal))
    return spanDelivery(delivery, batch.length, () => transformer().JsonTraceSerializer)
  }

  async close(): Promise<void> {
    const done = this.#exporter.shutdown()
    this.#agent.destroy()
    await done
  }

  #attempt(spans: ReadableSpan[], timeoutMillis: number, signal: AbortSignal): Promise<Delivery> {
    return exchange({ timeoutMillis, allowedMillis: this.#target.timeoutMillis, signal }, own => {
      // One at a time: a request made after its exchange was given up must not be attributed to the next one.
      this.#idle = this.#idle.then(() => (own.isOver() ? undefined : this.#send(spans, own)))
    })
  }

  #send(spans: ReadableSpan[], own: Exchange): Promise<void> {
    this.#current = own
    return new Promise(resolve => {
      const done = (delivery: Delivery): void => {
        own.end(delivery)
        resolve()
      }
      try {
        untraced(() => this.#exporter.export(spans, ({ error }) => done(error ? unsent(error) : { ok: true })))
      } catch {
        done(failed(UNSERIALISABLE))
      }
    })
  }

  #watch(request: ClientRequest): void {
    dropForeignHeaders(request, this.#target)
    this.#current?.watch(request)
    makeFinal(request)
  }
}

function createExporter({ url, headers, gzip, timeoutMillis }: OtlpTarget, agent: Agent): OTLPTraceExporter {
  const { OTLPTraceExporter: Exporter } = traceExporter()
  const { CompressionAlgorithm } = exporterBase()
  const { 'content-type': _its, 'user-agent': userAgent, ...own } = headers
  return new Exporter({
    url,
    headers: own,
    compression: gzip ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
    // The exporter throws at zero, which is a valid configuration.
    timeoutMillis: Math.max(timeoutMillis, 1),
    httpAgentOptions: () => agent,
    ...(userAgent === undefined ? {} : { userAgent }),
  })
}

/** The exporter adds the headers of `OTEL_EXPORTER_OTLP_HEADERS`, which may hold the key of another backend. */
function dropForeignHeaders(request: ClientRequest, { headers, gzip }: OtlpTarget): void {
  const own = new Set([
    'host',
    'content-type',
    'user-agent',
    ...(gzip ? ['content-encoding'] : []),
    ...Object.keys(headers),
  ])
  for (const name of request.getHeaderNames()) if (!own.has(name)) request.removeHeader(name)
}

/** Makes every failure look final to the exporter. It would retry temporary failures on a timer that holds the process. */
function makeFinal(request: ClientRequest): void {
  // The exporter decides by the code of the first error. This error comes first and has no code.
  request.once('error', error => request.emit('error', new Error('not delivered', { cause: error })))
  request.once('response', response => {
    if ((response.statusCode ?? 0) >= 300) response.statusCode = FINAL_STATUS
  })
}

/** The outcome of an export that made no request. */
function unsent(error: Error): Delivery {
  const code = codeOf(error)
  if (code.startsWith('ERR_')) return failed({ kind: 'header', code })
  return failed({ kind: 'internal', reason: 'the exporter broke' })
}
