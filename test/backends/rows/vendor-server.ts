import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { type ReceivedSpan, spansOfRequest } from '../../support/otlp-spans.mjs'
import { metricsOfRequest, type ReceivedMetric } from './otlp-metrics.mjs'
import type { Vendor } from './vendors.ts'

export type Encoding = 'http/json' | 'http/protobuf'

/** A request that was taken, read. */
export interface Taken {
  readonly signal: 'traces' | 'metrics' | 'logs'
  readonly encoding: Encoding
  readonly compression: 'gzip' | 'none'
  readonly spans: readonly ReceivedSpan[]
  readonly metrics: readonly ReceivedMetric[]
  /** Names of log events. */
  readonly events: readonly string[]
}

interface Refusal {
  readonly status: number
}

const ENCODINGS: Readonly<Record<string, Encoding>> = {
  'application/json': 'http/json',
  'application/x-protobuf': 'http/protobuf',
}

const SIGNALS = ['traces', 'metrics', 'logs'] as const

/** Takes what a vendor takes, and refuses the rest with the status that the vendor does. */
export class VendorServer {
  readonly taken: Taken[] = []
  readonly refused: number[] = []
  readonly #vendor: Vendor
  readonly #server: Server

  private constructor(vendor: Vendor) {
    this.#vendor = vendor
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  static async start(vendor: Vendor): Promise<VendorServer> {
    const server = new VendorServer(vendor)
    await new Promise<void>(resolve => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  /** What a person would give as the endpoint. */
  get endpoint(): string {
    return `${this.origin}${this.#vendor.path}`
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const judged = this.#judge(request, Buffer.concat(chunks))
    if ('status' in judged) {
      this.refused.push(judged.status)
      response.writeHead(judged.status, { 'content-type': 'text/plain' }).end('refused')
      return
    }
    this.taken.push(judged)
    const isJson = this.#vendor.answers === 'json' || judged.encoding === 'http/json'
    response
      .writeHead(200, { 'content-type': isJson ? 'application/json' : 'application/x-protobuf' })
      .end(isJson ? '{}' : '')
  }

  #judge(request: IncomingMessage, sent: Buffer): Taken | Refusal {
    const { headers, resource = {}, metrics, logs = false, path, wrong, json } = this.#vendor
    const isTaken = { traces: true, metrics: metrics !== undefined, logs }
    const signal = SIGNALS.find(signal => isTaken[signal] && request.url === `${path}/v1/${signal}`)
    if (signal === undefined) return { status: 404 }
    if (request.method !== 'POST') return { status: 405 }
    const isKnown = Object.entries(headers).every(([name, value]) => request.headers[name] === value)
    if (!isKnown) return { status: wrong?.[1] ?? 400 }
    const encoding = ENCODINGS[request.headers['content-type'] ?? '']
    if (encoding === undefined) return { status: 415 }
    if (encoding === 'http/json' && json !== 200) return { status: json ?? 415 }
    const taken = read(signal, encoding, request, sent)
    if (taken === undefined || !taken.spans.every(span => isOf(span, resource))) return { status: 400 }
    return taken
  }
}

function read(signal: Taken['signal'], encoding: Encoding, request: IncomingMessage, sent: Buffer): Taken | undefined {
  const compression = request.headers['content-encoding'] === 'gzip' ? 'gzip' : 'none'
  try {
    const body = compression === 'gzip' ? gunzipSync(sent) : sent
    const isJson = encoding === 'http/json'
    const spans = signal === 'traces' ? spansOfRequest(body, isJson) : []
    const metrics = signal === 'metrics' ? metricsOfRequest(body, isJson) : []
    const events = signal === 'logs' && isJson ? eventsOf(body) : []
    const isAnything = spans.length + metrics.length + events.length > 0
    return isAnything ? { signal, encoding, compression, spans, metrics, events } : undefined
  } catch {
    return undefined
  }
}

function isOf(span: ReceivedSpan, resource: Readonly<Record<string, string>>): boolean {
  return Object.entries(resource).every(([name, value]) => span.resource[name] === value)
}

interface LogsRequest {
  readonly resourceLogs: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly LogRecord[] }[] }[]
}

interface LogRecord {
  readonly eventName: string
}

function eventsOf(body: Buffer): string[] {
  const { resourceLogs } = JSON.parse(String(body)) as LogsRequest
  const scopes = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs)
  return scopes.flatMap(({ logRecords }) => logRecords.map(({ eventName }) => eventName))
}
