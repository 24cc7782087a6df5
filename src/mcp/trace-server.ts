import { context, type Tracer, trace } from '@opentelemetry/api'
import { idOf, peek } from '../contract/foreign.ts'
import { ServerCalls } from './server-calls.ts'
import type { McpServer } from './shapes.ts'

/** Where the spans go. */
export interface TraceServerOptions {
  /** Default: the tracer `hookspan/mcp` of the provider that is registered in OpenTelemetry's API. */
  readonly tracer?: Tracer | undefined
}

type OnMessage = (message: unknown, extra?: unknown) => void

/** A transport of a server, as the SDK uses it. */
interface Connected {
  onmessage?: OnMessage
  onclose?: () => void
  readonly sessionId?: unknown
  start(): Promise<void>
  send(message: unknown, options?: unknown): Promise<void>
}

const TRACED = new WeakSet<object>()

/**
 * A span for each `tools/call` that a server answers, below the span that its caller names; the tool's function runs in it, so
 * spans of its own stand below. To be called before the server is connected; with `createMcpHandler`, on each server that its
 * function makes. Tools may be registered before or after. Arguments and results are not recorded.
 *
 * @returns the server
 * @example await traceMcpServer(new McpServer({ name: 'shop', version: '1.0.0' })).connect(new StdioServerTransport())
 */
export function traceMcpServer<Server extends McpServer>(server: Server, options: TraceServerOptions = {}): Server {
  // All transports come to the `Server` below an `McpServer`, also those that the SDK makes itself.
  const below = (peek(server, 'server') ?? server) as McpServer
  if (typeof below.connect !== 'function' || TRACED.has(below)) return server
  TRACED.add(below)
  const { connect } = below
  below.connect = function (transport: Connected) {
    try {
      watch(transport, () => options.tracer ?? trace.getTracer('hookspan/mcp'))
    } catch {
      // Whoever connects it will say what it lacks.
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
  // When it starts, the server has set what is to be told of messages.
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

/** By the streams that the SDK's stdio transport keeps: its name may be lost in a bundle. */
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
