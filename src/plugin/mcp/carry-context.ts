import { context, isSpanContextValid, trace } from '@opentelemetry/api'
import { isArray, peek } from '../../contract/foreign.ts'
import { formatTraceparent, parseTraceparent } from '../../tracker/traceparent.ts'

/** Options for finding the context of a request. */
export interface CarryOptions {
  /**
   * Called when a request is sent. Returns the W3C `traceparent` to send with it, or undefined for none. Default: the active
   * span of OpenTelemetry's API, with its `tracestate`.
   *
   * @example { traceparent: () => hooks.traceparent(tool.ids) }
   */
  readonly traceparent?: (() => string | undefined) | undefined
}

interface TraceContextFields {
  readonly traceparent: string
  readonly tracestate?: string
}

const CARRYING = new WeakSet<object>()

/**
 * Adds the trace context to each request of an MCP client: `traceparent` and `tracestate` in `params._meta`. Answers,
 * notifications and requests that already have a `traceparent` are sent unchanged. Messages are copied, never modified. The
 * transport stays the same object.
 *
 * @returns the transport
 * @example await client.connect(carryContext(new StdioClientTransport({ command: 'node', args: ['server.mjs'] })))
 */
export function carryContext<Transport extends McpTransport>(
  transport: Transport,
  options: CarryOptions = {},
): Transport {
  if (CARRYING.has(transport)) return transport
  CARRYING.add(transport)
  const { send } = transport
  const { traceparent: ask } = options
  const find = ask === undefined ? active : () => told(ask())
  transport.send = function (message, sendOptions) {
    return send.call(this, carrying(message, find), sendOptions)
  }
  return transport
}

/** The message, or a copy of it with the context. The original is sent if this fails. */
function carrying(message: unknown, find: () => TraceContextFields | undefined): unknown {
  try {
    return isArray(message) ? message.map(each => withContext(each, find)) : withContext(message, find)
  } catch {
    return message
  }
}

function withContext(message: unknown, find: () => TraceContextFields | undefined): unknown {
  if (typeof peek(message, 'method') !== 'string' || peek(message, 'id') === undefined) return message
  const params = peek(message, 'params')
  const meta = peek(params, '_meta')
  if (peek(meta, 'traceparent') !== undefined) return message
  const carried = find()
  if (carried === undefined) return message
  return { ...(message as object), params: { ...(params as object), _meta: { ...(meta as object), ...carried } } }
}

function active(): TraceContextFields | undefined {
  const found = trace.getSpanContext(context.active())
  if (found === undefined || !isSpanContextValid(found)) return undefined
  const tracestate = found.traceState?.serialize()
  return { traceparent: formatTraceparent(found), ...(tracestate ? { tracestate } : {}) }
}

/** An invalid traceparent is omitted: a server would ignore it. */
function told(traceparent: unknown): TraceContextFields | undefined {
  const parsed = parseTraceparent(traceparent)
  return parsed && { traceparent: formatTraceparent(parsed) }
}

/** The parts of the MCP SDK that we use, in both of its lines (1.32 and 2.4), declared here to avoid an import. */

/** A transport of a client or of a server: stdio, HTTP, or in memory. */
export interface McpTransport {
  /** Sends a message, or several at once. */
  // biome-ignore lint/suspicious/noExplicitAny: each transport of each line has types of its own, and all of them are meant.
  send(message: any, options?: any): Promise<void>
}

/** An `McpServer`, or the `Server` inside it. */
export interface McpServer {
  /** Connects the server, as in the SDK. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  connect(transport: any): Promise<void>
}
