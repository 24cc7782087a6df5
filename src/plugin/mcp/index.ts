/** `hookspan/mcp`: continues traces in MCP servers. Supports both lines of the MCP SDK without importing either. */

import type { Attributes, Context, Span, SpanContext, Tracer } from '@opentelemetry/api'
import { context, createTraceState, isSpanContextValid, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { createRedactor } from '../../content/redaction.ts'
import { elementsOf, idOf, ignoreErrors, isArray, peek, textOf } from '../../contract/foreign.ts'
import { GEN_AI, GENERAL, MCP, OPERATION } from '../../contract/semconv/index.ts'
import { formatTraceparent, parseTraceparent } from '../../tracker/traceparent.ts'

/** Options for the destination of the spans. */
export interface TraceServerOptions {
  /** Default: the tracer `hookspan/mcp` of the provider that is registered in OpenTelemetry's API. */
  readonly tracer?: Tracer | undefined
}

interface McpConnection {
  onmessage?: (message: unknown, extra?: unknown) => void
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
  below.connect = function (transport: McpConnection) {
    // `connect` will report what is wrong with the transport.
    ignoreErrors(() => watch(transport, () => options.tracer ?? trace.getTracer('hookspan/mcp')))
    return connect.call(this, transport)
  }
  return server
}

function watch(transport: McpConnection, tracer: () => Tracer): void {
  const calls = new ServerCalls(transport, tracer)
  const { start, send } = transport
  transport.send = function (message, options) {
    calls.answered(message)
    return send.call(this, message, options)
  }
  // The server has set its `onmessage` by the time of `start`.
  transport.start = function () {
    const { onmessage, onclose } = this
    if (onmessage !== undefined) {
      this.onmessage = function (message, extra) {
        const within = calls.began(message, extra)
        if (within === undefined) onmessage.call(this, message, extra)
        else context.with(within, () => onmessage.call(this, message, extra))
      }
    }
    this.onclose = function () {
      calls.endAll()
      onclose?.call(this)
    }
    return start.call(this)
  }
}

/** Checks the private streams of the SDK's stdio transport: a bundler may change the class name. */
function isStdio(transport: McpConnection): boolean {
  return peek(transport, '_stdin') !== undefined && peek(transport, '_stdout') !== undefined
}

const METHOD = 'tools/call'
const CANCELLED = 'notifications/cancelled'
/** The protocol's formats: a version is a date. A client may send any text; other values are not recorded. */
const PROTOCOL_VERSION = /^\d{4}-\d{2}-\d{2}$/
const TOOL_NAME = /^[\w./-]{1,128}$/
const TOOL_ERROR = 'tool_error'
const CLOSED = 'connection_closed'
/** Limits the open calls of a connection. Beyond it, the oldest call is ended. */
const OPEN_LIMIT = 1000

const redact = createRedactor({ enabled: true, patterns: [] })

class ServerCalls {
  readonly #open = new Map<unknown, Span>()
  readonly #transport: McpConnection
  readonly #tracer: () => Tracer
  /** From the answer to `initialize`. A server without sessions may never see one. */
  #version: unknown

  constructor(transport: McpConnection, tracer: () => Tracer) {
    this.#transport = transport
    this.#tracer = tracer
  }

  began(message: unknown, extra: unknown): Context | undefined {
    return ignoreErrors(() => {
      const method = peek(message, 'method')
      if (method === CANCELLED) this.#end(peek(peek(message, 'params'), 'requestId'))
      const id = peek(message, 'id')
      const isId = typeof id === 'string' || typeof id === 'number'
      return method === METHOD && isId ? this.#begin(id, message, extra) : undefined
    })
  }

  answered(message: unknown): void {
    ignoreErrors(() => {
      for (const each of isArray(message) ? elementsOf(message, OPEN_LIMIT) : [message]) {
        if (peek(each, 'method') !== undefined) continue
        this.#version = peek(peek(each, 'result'), 'protocolVersion') ?? this.#version
        this.#end(peek(each, 'id'), failureIn(each))
      }
    })
  }

  endAll(): void {
    for (const id of [...this.#open.keys()]) ignoreErrors(() => this.#end(id, { [GENERAL.errorType]: CLOSED }))
  }

  #begin(id: string | number, message: unknown, extra: unknown): Context {
    // A repeated id: its first answer was never sent.
    this.#end(id, { [GENERAL.errorType]: CLOSED })
    const [oldest] = this.#open.keys()
    if (this.#open.size >= OPEN_LIMIT) this.#end(oldest)
    const tool = toolName(peek(peek(message, 'params'), 'name'))
    const caller = callerOf(message, extra)
    const span = this.#tracer().startSpan(
      tool === undefined ? METHOD : `${METHOD} ${tool}`,
      {
        kind: SpanKind.SERVER,
        attributes: this.#attributesOf(id, tool, extra),
        links: caller.linked ? [{ context: caller.linked }] : [],
      },
      caller.context,
    )
    this.#open.set(id, span)
    return trace.setSpan(caller.context, span)
  }

  #attributesOf(id: string | number, tool: string | undefined, extra: unknown): Attributes {
    const session = idOf(peek(this.#transport, 'sessionId'))
    const headers = headersOf(extra)
    const transport = headers === undefined ? (isStdio(this.#transport) ? 'pipe' : undefined) : 'tcp'
    const version = (headers && textOf(headerOf(headers, 'mcp-protocol-version'))) ?? this.#version
    return {
      [MCP.methodName]: METHOD,
      [GEN_AI.operationName]: OPERATION.executeTool,
      ...(tool === undefined ? {} : { [GEN_AI.toolName]: tool }),
      [MCP.requestId]: idOf(id) ?? '',
      ...(session === undefined ? {} : { [MCP.sessionId]: session }),
      ...(transport === undefined ? {} : { [MCP.networkTransport]: transport }),
      ...(typeof version === 'string' && PROTOCOL_VERSION.test(version) ? { [MCP.protocolVersion]: version } : {}),
    }
  }

  #end(id: unknown, failure?: Attributes): void {
    const span = this.#open.get(id)
    if (span === undefined) return
    this.#open.delete(id)
    if (failure !== undefined) span.setAttributes(failure).setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  }
}

function toolName(name: unknown): string | undefined {
  return typeof name === 'string' && TOOL_NAME.test(name) && redact(name) === name ? name : undefined
}

/** A failed tool returns a normal answer with `isError`. A request refused earlier is a protocol error. */
function failureIn(answer: unknown): Attributes | undefined {
  const code = idOf(peek(peek(answer, 'error'), 'code'))
  if (code !== undefined) return { [GENERAL.errorType]: code }
  return peek(peek(answer, 'result'), 'isError') === true ? { [GENERAL.errorType]: TOOL_ERROR } : undefined
}

const TRACESTATE_CHARACTERS = 512

/**
 * Finds the parent of a request: the span in its `_meta`. HTTP headers belong to one hop, which may be a proxy. They are the
 * parent without a `_meta`, and a link otherwise. If the HTTP server is traced, its span replaces the headers.
 *
 * @param message the request
 * @param extra the transport's data about the request
 */
function callerOf(message: unknown, extra: unknown) {
  const base = context.active()
  const named = carriedBy(key => peek(peek(peek(message, 'params'), '_meta'), key))
  const hop = hopOf(extra, base)
  const parent = named ?? hop
  return {
    context: parent === undefined ? trace.deleteSpan(base) : trace.setSpanContext(base, parent),
    linked: named !== undefined && hop?.spanId !== named.spanId ? hop : undefined,
  }
}

function headersOf(extra: unknown): unknown {
  return peek(peek(extra, 'requestInfo'), 'headers') ?? peek(peek(extra, 'request'), 'headers')
}

/** Undefined over stdio, where the active span is that of the server's start. */
function hopOf(extra: unknown, base: Context): SpanContext | undefined {
  const headers = headersOf(extra)
  if (headers === undefined) return undefined
  const serving = trace.getSpanContext(base)
  if (serving !== undefined && isSpanContextValid(serving)) return serving
  return carriedBy(key => headerOf(headers, key))
}

function headerOf(headers: unknown, name: string): unknown {
  if (typeof peek(headers, 'get') === 'function') return (headers as Headers).get(name)
  const value = peek(headers, name)
  return typeof value === 'string' ? value : elementsOf(value, 1)[0]
}

function carriedBy(read: (key: string) => unknown): SpanContext | undefined {
  const parent = parseTraceparent(read('traceparent'))
  if (parent === undefined) return undefined
  const state = textOf(read('tracestate'))
  if (state === undefined || state.length > TRACESTATE_CHARACTERS) return parent
  return { ...parent, traceState: createTraceState(state) }
}

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
  const { traceparent } = options
  const find = traceparent === undefined ? activeContext : () => validContext(traceparent())
  transport.send = function (message, sendOptions) {
    const carrying = (): unknown =>
      isArray(message) ? message.map(each => withContext(each, find)) : withContext(message, find)
    return send.call(this, ignoreErrors(carrying) ?? message, sendOptions)
  }
  return transport
}

function withContext(message: unknown, find: () => object | undefined): unknown {
  if (typeof peek(message, 'method') !== 'string' || peek(message, 'id') === undefined) return message
  const params = peek(message, 'params')
  const meta = peek(params, '_meta')
  if (peek(meta, 'traceparent') !== undefined) return message
  const carried = find()
  if (carried === undefined) return message
  return { ...(message as object), params: { ...(params as object), _meta: { ...(meta as object), ...carried } } }
}

function activeContext(): object | undefined {
  const found = trace.getSpanContext(context.active())
  if (found === undefined || !isSpanContextValid(found)) return undefined
  const tracestate = found.traceState?.serialize()
  return { traceparent: formatTraceparent(found), ...(tracestate ? { tracestate } : {}) }
}

/** An invalid traceparent is omitted: a server would ignore it. */
function validContext(traceparent: unknown): object | undefined {
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
