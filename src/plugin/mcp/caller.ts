import {
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  type SpanContext,
  trace,
} from '@opentelemetry/api'
import { elementsOf, peek, textOf } from '../../contract/foreign.ts'
import { parseTraceparent } from '../../tracker/traceparent.ts'

/** The length of a `tracestate` that W3C requires to be kept. */
const TRACESTATE_CHARACTERS = 512

export interface Caller {
  readonly context: Context
  /** Another related span: the network request that transported the call. */
  readonly linked: SpanContext | undefined
}

/**
 * Finds the parent of a request: the span in its `_meta`. HTTP headers belong to one hop, which may be a proxy. They are the
 * parent without a `_meta`, and a link otherwise. If the HTTP server is traced, its span replaces the headers.
 *
 * @param message the request
 * @param extra the transport's data about the request
 */
export function callerOf(message: unknown, extra: unknown): Caller {
  const base = context.active()
  const named = carriedBy(key => peek(peek(peek(message, 'params'), '_meta'), key))
  const hop = hopOf(extra, base)
  const parent = named ?? hop
  return {
    context: parent === undefined ? trace.deleteSpan(base) : trace.setSpanContext(base, parent),
    linked: named !== undefined && hop?.spanId !== named.spanId ? hop : undefined,
  }
}

/** The headers of the HTTP request with the message. Undefined over stdio. */
function headersOf(extra: unknown): unknown {
  return peek(peek(extra, 'requestInfo'), 'headers') ?? peek(peek(extra, 'request'), 'headers')
}

/** `network.transport` and the protocol version of a message, if its HTTP request has them. */
export function httpFacts(extra: unknown): { readonly transport?: 'tcp'; readonly version?: string | undefined } {
  const headers = headersOf(extra)
  return headers === undefined ? {} : { transport: 'tcp', version: textOf(headerOf(headers, 'mcp-protocol-version')) }
}

/** Undefined over stdio, where the active span is that of the server's start. */
function hopOf(extra: unknown, base: Context): SpanContext | undefined {
  const headers = headersOf(extra)
  if (headers === undefined) return undefined
  const serving = trace.getSpanContext(base)
  if (serving !== undefined && isSpanContextValid(serving)) return serving
  return carriedBy(key => headerOf(headers, key))
}

/** Reads a header of a `Headers` object, or of a plain object with lower-case names. */
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
