import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import { protobufRecords } from './otlp-protobuf.ts'

/** How the sink treats a request. It may be changed at any time, for the requests that come after. */
export type SinkBehaviour =
  | { readonly kind: 'ok'; readonly body?: string; readonly contentType?: string }
  | { readonly kind: 'slow'; readonly millis: number }
  /** Takes the request and never answers. */
  | { readonly kind: 'hanging' }
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers?: Record<string, string>
      readonly body?: string
    }
  /** Takes the request and closes the connection. */
  | { readonly kind: 'reset' }

/** A span or a metric, as far as it can be read without a schema. */
export interface SinkRecord {
  readonly name: string
  readonly traceId?: string
  readonly spanId?: string
}

export interface SinkRequest {
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** After decompression. */
  readonly body: Buffer
  /** The decoded body, when it is JSON. */
  readonly json: unknown
  /** Its spans or metrics, from JSON or protobuf. */
  readonly records: readonly SinkRecord[]
}

/** A real OTLP receiver on the loopback interface that keeps what it is sent. */
export class OtlpSink {
  readonly requests: SinkRequest[] = []
  behaviour: SinkBehaviour
  /** As a real one, it answers 400 to what is not JSON; otherwise the test breaks. */
  refuseBadJson = false
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #watchers: (() => void)[] = []

  private constructor(server: Server, behaviour: SinkBehaviour) {
    this.#server = server
    this.behaviour = behaviour
  }

  /** With `tls` it speaks nothing else. */
  static async start(behaviour: SinkBehaviour = { kind: 'ok' }, tls?: TlsOptions): Promise<OtlpSink> {
    const server = tls ? createTlsServer(tls) : createServer()
    const sink = new OtlpSink(server, behaviour)
    server.on('connection', socket => {
      sink.#sockets.add(socket)
      socket.on('close', () => sink.#sockets.delete(socket))
    })
    server.on('request', (request, response) => void sink.#take(request, response))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return sink
  }

  /** Without a slash at its end. */
  get url(): string {
    const scheme = 'setSecureContext' in this.#server ? 'https' : 'http'
    return `${scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Names of the spans that came, in order. */
  get spanNames(): string[] {
    return this.#recordsOf('/v1/traces').map(record => record.name)
  }

  get metricNames(): string[] {
    return this.#recordsOf('/v1/metrics').map(record => record.name)
  }

  /** Resolves once `is` holds, which is asked after each request. */
  async until(is: () => boolean): Promise<void> {
    while (!is()) await new Promise<void>(resolve => this.#watchers.push(resolve))
  }

  /** Closes every connection, answered or not. */
  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #recordsOf(path: string): SinkRecord[] {
    return this.requests.filter(request => request.path.endsWith(path)).flatMap(request => request.records)
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const sent = Buffer.concat(chunks)
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
    const isJson = request.headers['content-type'] === 'application/json'
    if (isJson && this.refuseBadJson && !isValid(body)) return void response.writeHead(400).end()
    const json: unknown = isJson && body.length > 0 ? JSON.parse(body.toString('utf8')) : undefined
    this.requests.push({
      path: request.url ?? '',
      method: request.method ?? '',
      headers: request.headers,
      body,
      json,
      records: isJson ? jsonRecords(json) : protobufRecords(body),
    })
    this.#answer(this.behaviour, request, response)
    const watchers = this.#watchers
    this.#watchers = []
    for (const watcher of watchers) watcher()
  }

  #answer(behaviour: SinkBehaviour, request: IncomingMessage, response: ServerResponse): void {
    switch (behaviour.kind) {
      case 'ok':
        response
          .writeHead(200, { 'content-type': behaviour.contentType ?? 'application/json' })
          .end(behaviour.body ?? '')
        return
      case 'slow':
        setTimeout(() => response.writeHead(200).end(), behaviour.millis).unref()
        return
      case 'status':
        response.writeHead(behaviour.status, behaviour.headers).end(behaviour.body)
        return
      case 'reset':
        request.socket.destroy()
        return
      case 'hanging':
    }
  }
}

function isValid(body: Buffer): boolean {
  try {
    JSON.parse(body.toString())
    return true
  } catch {
    return false
  }
}

interface JsonRequest {
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly { readonly spans: readonly SinkRecord[] }[] }[]
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly SinkRecord[] }[]
  }[]
}

function jsonRecords(json: unknown): SinkRecord[] {
  const { resourceSpans = [], resourceMetrics = [] } = (json ?? {}) as JsonRequest
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(scope => scope.spans))
  const metrics = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(scope => scope.metrics))
  return [...spans, ...metrics].map(({ name, traceId, spanId }) => ({
    name,
    ...(traceId === undefined ? {} : { traceId }),
    ...(spanId === undefined ? {} : { spanId }),
  }))
}
