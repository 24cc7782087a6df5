import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TlsOptions } from 'node:tls'
import { protobufRecords } from '../support/otlp-protobuf.ts'

/** How a server of traces behaves; changed at any time. */
export interface ServerBehaviour {
  /** Of OTLP requests. */
  otlpStatus: number
  otlpHeaders: Record<string, string>
  /** So often it is asked for a trace in vain; infinity: always. */
  hiddenFor: number
  /** Of all that is asked for; undefined: 200 and 404 as it should be. */
  apiStatus: number | undefined
  apiHeaders: Record<string, string>
  /** Never answers when it is asked. */
  isApiHanging: boolean
  /** How far ahead its clock is. */
  aheadMillis: number
}

const WELL: ServerBehaviour = {
  otlpStatus: 200,
  otlpHeaders: {},
  hiddenFor: 0,
  apiStatus: undefined,
  apiHeaders: {},
  isApiHanging: false,
  aheadMillis: 0,
}

export interface Asked {
  readonly path: string
  readonly authorization: string | undefined
}

const TRACE_ID = /[0-9a-f]{32}/

/** A server that takes OTLP and can be asked for traces, at as many ports as one likes. */
export class TraceServer {
  readonly behaviour: ServerBehaviour = { ...WELL }
  /** Requests of its API. */
  readonly asked: Asked[] = []
  /** Trace ids that it was sent. */
  readonly traceIds: string[] = []
  readonly spanNames: string[] = []
  readonly metricNames: string[] = []
  readonly #servers: Server[] = []
  readonly #tls: TlsOptions | undefined

  /** With `tls` it speaks nothing else. */
  private constructor(tls: TlsOptions | undefined) {
    this.#tls = tls
  }

  /** `ports`: of one address; 0 is any. */
  static async start(address = '127.0.0.1', ports: readonly number[] = [0], tls?: TlsOptions): Promise<TraceServer> {
    const server = new TraceServer(tls)
    for (const port of ports) await server.#listen(address, port)
    return server
  }

  /** Of the first port, without a slash at its end. */
  get url(): string {
    const { address, port } = this.#servers[0]!.address() as AddressInfo
    return `${this.#tls ? 'https' : 'http'}://${address}:${port}`
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) server.closeAllConnections()
    await Promise.all(this.#servers.map(server => new Promise(resolve => server.close(resolve))))
  }

  async #listen(address: string, port: number): Promise<void> {
    const answer: RequestListener = (request, response) => void this.#answer(request, response)
    const server = this.#tls ? createTlsServer(this.#tls, answer) : createServer(answer)
    this.#servers.push(server)
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, address, resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    response.setHeader('date', new Date(Date.now() + this.behaviour.aheadMillis).toUTCString())
    if (request.method === 'POST') this.#take(request, Buffer.concat(chunks), response)
    else this.#show(request, response)
  }

  #take(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const { otlpStatus, otlpHeaders } = this.behaviour
    const isJson = request.headers['content-type'] === 'application/json'
    // The ids of OTLP/JSON are hexadecimal; the names of one span are easily found.
    const text = body.toString('utf8')
    const found = isJson
      ? [{ name: /"hookspan\.doctor[.a-z]*"/.exec(text)?.[0].slice(1, -1) ?? '', traceId: TRACE_ID.exec(text)?.[0] }]
      : protobufRecords(body)
    for (const { name, traceId } of found) {
      if (request.url?.endsWith('/v1/metrics')) this.metricNames.push(name)
      else this.spanNames.push(name)
      if (traceId !== undefined && otlpStatus === 200) this.traceIds.push(traceId)
    }
    response.writeHead(otlpStatus, otlpHeaders).end()
  }

  #show(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? ''
    this.asked.push({ path, authorization: request.headers.authorization })
    const { apiStatus, apiHeaders, hiddenFor, isApiHanging } = this.behaviour
    if (isApiHanging) return
    const [traceId = ''] = TRACE_ID.exec(path) ?? []
    const isShown = this.traceIds.includes(traceId) && this.asked.length > hiddenFor
    // Phoenix has a list, which may be empty; the others have the trace or not.
    const isList = path.includes('?')
    const headers = { 'content-type': 'application/json', ...apiHeaders }
    response.writeHead(apiStatus ?? (isShown || isList ? 200 : 404), headers)
    response.end(JSON.stringify({ data: isShown ? [{ context: { trace_id: traceId } }] : [] }))
  }
}
