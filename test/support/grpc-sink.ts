import {
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import { protobufRecords } from './otlp-protobuf.ts'
import type { SinkRecord } from './otlp-sink.ts'

/** How the sink treats a call. It may be changed at any time, for the calls that come after. */
export type GrpcBehaviour =
  | { readonly kind: 'ok'; readonly message?: string }
  | { readonly kind: 'status'; readonly code: number; readonly message?: string; readonly details?: Buffer }
  /** A response of a proxy. */
  | { readonly kind: 'http'; readonly status: number; readonly headers?: Record<string, string> }
  /** Sends the headers of the response, and closes the connection before the status. */
  | { readonly kind: 'dying' }
  | { readonly kind: 'reset' }
  | { readonly kind: 'hanging' }

export interface GrpcCall {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** After decompression, without the frame. */
  readonly message: Buffer
  readonly records: readonly SinkRecord[]
}

type Respond = (call: GrpcCall) => GrpcBehaviour

/** A real gRPC server on the loopback interface that keeps what it is sent. */
export class GrpcSink {
  readonly calls: GrpcCall[] = []
  connections = 0
  behaviour: GrpcBehaviour | Respond = { kind: 'ok' }
  readonly #server: Http2Server
  readonly #scheme: string
  readonly #sockets = new Set<Socket>()
  #watchers: (() => void)[] = []

  readonly port: number

  private constructor(server: Http2Server, scheme: string) {
    this.#server = server
    this.#scheme = scheme
    this.port = (server.address() as AddressInfo).port
  }

  static async start(tls?: TlsOptions, port = 0): Promise<GrpcSink> {
    const server = tls ? createSecureServer(tls) : createServer()
    await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
    const sink = new GrpcSink(server as Http2Server, tls ? 'https' : 'http')
    server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
      sink.connections++
      sink.#sockets.add(socket)
      socket.on('close', () => sink.#sockets.delete(socket))
    })
    server.on('stream', (stream, headers) => void sink.#receive(stream, headers))
    server.on('sessionError', () => undefined)
    return sink
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`
  }

  get spanNames(): string[] {
    return this.calls.flatMap(({ path, records }) => (path.includes('.trace.') ? records.map(({ name }) => name) : []))
  }

  /** Resolves once `is` holds, which is asked after each call. */
  async until(is: () => boolean): Promise<void> {
    while (!is()) await new Promise<void>(resolve => this.#watchers.push(resolve))
  }

  /** Closes every connection, answered or not. */
  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async #receive(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    stream.on('error', () => undefined)
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    const frame = Buffer.concat(chunks)
    const length = frame.readUInt32BE(1)
    if (frame.length !== length + 5) throw new Error(`a frame of ${length} bytes has ${frame.length}`)
    const sent = frame.subarray(5)
    const message = frame[0] === 1 ? gunzipSync(sent) : sent
    const path = headers[':path'] ?? ''
    const call = { path, headers, message, records: protobufRecords(message) }
    this.calls.push(call)
    this.#answer(typeof this.behaviour === 'function' ? this.behaviour(call) : this.behaviour, stream)
    const watchers = this.#watchers
    this.#watchers = []
    for (const watcher of watchers) watcher()
  }

  #answer(behaviour: GrpcBehaviour, stream: ServerHttp2Stream): void {
    const head = { ':status': 200, 'content-type': 'application/grpc' }
    switch (behaviour.kind) {
      case 'ok':
        stream.respond(head, { waitForTrailers: true })
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
        stream.end(frameOf(Buffer.from(behaviour.message ?? '', 'latin1')))
        return
      case 'status': {
        const { code, message = '', details } = behaviour
        const more = details ? { 'grpc-status-details-bin': details.toString('base64').replace(/=+$/, '') } : {}
        const status = { 'grpc-status': String(code), 'grpc-message': message.replaceAll('%', '%25') }
        stream.respond({ ...head, ...status, ...more }, { endStream: true })
        return
      }
      case 'http':
        stream.respond({ ':status': behaviour.status, ...behaviour.headers }, { endStream: true })
        return
      case 'dying':
        stream.respond(head)
        stream.write('\0', () => this.#cut())
        return
      case 'reset':
        this.#cut()
        return
      case 'hanging':
    }
  }

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

function frameOf(message: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}
