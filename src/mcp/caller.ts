import {
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  type SpanContext,
  trace,
} from '@opentelemetry/api'
import { elementsOf, peek, textOf } from '../contract/foreign.ts'
import { parseTraceparent } from '../core/traceparent.ts'

/** What the W3C wants to be kept of a `tracestate`. */
const TRACESTATE_CHARACTERS = 512

/** Whose child a call is. */
export interface Caller {
  readonly context: Context
  /** Who else has something to do with it: the request of the network that has brought it. */
  readonly linked: SpanContext | undefined
}

/**
 * Whose child a request is: of whom its `_meta` names. The headers of HTTP are those of one hop, which may be a proxy's; they
 * count where there is no `_meta`, and are a link beside it. Where the HTTP server is traced, its span is the nearer one.
 *
 * @param message the request
 * @param extra what the transport has handed over with it
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

/** The headers of the HTTP request that brought a message; undefined over stdio. */
function headersOf(extra: unknown): unknown {
  return peek(peek(extra, 'requestInfo'), 'headers') ?? peek(peek(extra, 'request'), 'headers')
}

/** `network.transport` and the protocol version of a message, as far as its HTTP request has them. */
export function httpFacts(extra: unknown): { readonly transport?: 'tcp'; readonly version?: string | undefined } {
  const headers = headersOf(extra)
  return headers === undefined ? {} : { transport: 'tcp', version: textOf(headerOf(headers, 'mcp-protocol-version')) }
}

/** Over stdio there is none, and what is active there was so when the server was started. */
function hopOf(extra: unknown, base: Context): SpanContext | undefined {
  const headers = headersOf(extra)
  if (headers === undefined) return undefined
  const serving = trace.getSpanContext(base)
  if (serving !== undefined && isSpanContextValid(serving)) return serving
  return carriedBy(key => headerOf(headers, key))
}

/** Of a plain object, in lower case, or of a `Headers`. */
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
