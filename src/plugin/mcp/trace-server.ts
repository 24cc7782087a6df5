import { context, type Tracer, trace } from '@opentelemetry/api'
import { idOf, peek } from '../../contract/foreign.ts'
import { ServerCalls } from './server-calls.ts'
import type { McpServer } from './shapes.ts'

/** Options for the destination of the spans. */
export interface TraceServerOptions {
  /** Default: the tracer `hookspan/mcp` of the provider that is registered in OpenTelemetry's API. */
  readonly tracer?: Tracer | undefined
}

type OnMessage = (message: unknown, extra?: unknown) => void

interface Connected {
  onmessage?: OnMessage
  onclose?: () => void
  readonly sessionId?: unknown
  start(): Promise<void>
  send(message: unknown, options?: unknown): Promise<void>
}

const TRACED = new WeakSet<object>()

/**
 * Records a span for each `tools/call` that a server answers, as a child of the caller's span. The tool's function runs inside
 * it, so that its own spans become children. Call this before connecting the server. With `createMcpHandler`, call it on each
 * server that its function creates. Tools may be registered before or after. Arguments and results are not recorded.
 *
 * @returns the server
 * @example await traceMcpServer(new McpServer({ name: 'shop', version: '1.0.0' })).connect(new StdioServerTransport())
 */
export function traceMcpServer<Server extends McpServer>(server: Server, options: TraceServerOptions = {}): Server {
  // Every transport reaches the `Server` inside an `McpServer`, even one that the SDK creates itself.
  const below = (peek(server, 'server') ?? server) as McpServer
  if (typeof below.connect !== 'function' || TRACED.has(below)) return server
  TRACED.add(below)
  const { connect } = below
  below.connect = function (transport: Connected) {
    try {
      watch(transport, () => options.tracer ?? trace.getTracer('hookspan/mcp'))
    } catch {
      // `connect` will report what is wrong with the transport.
    }
    return connect.call(this, transport)
  }
  return server
}

function watch(transport: Connected, tracer: () => Tracer): void {
  const calls = new ServerCalls(tracer, () => idOf(peek(transport, 'sessionId')), isStdio(transport))
  const { start, send } = transport
  transport.send = function (message, options) {
    calls.answered(message)
    return send.call(this, message, options)
  }
  // The server has set its `onmessage` by the time of `start`.
  transport.start = function () {
    const { onmessage, onclose } = this
    if (onmessage !== undefined) this.onmessage = listening(onmessage, calls)
    this.onclose = function () {
      calls.endAll()
      onclose?.call(this)
    }
    return start.call(this)
  }
}

/** Checks the private streams of the SDK's stdio transport: a bundler may change the class name. */
function isStdio(transport: Connected): boolean {
  return peek(transport, '_stdin') !== undefined && peek(transport, '_stdout') !== undefined
}

function listening(onmessage: OnMessage, calls: ServerCalls): OnMessage {
  return function (this: unknown, message, extra) {
    const within = calls.began(message, extra)
    if (within === undefined) onmessage.call(this, message, extra)
    else context.with(within, () => onmessage.call(this, message, extra))
  }
}
