import { type Context, context, isSpanContextValid, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api'
import { peek } from '../contract/foreign.ts'

/** What is active in the host, by the API's context manager. The host may have none, and one that throws costs us nothing. */
function active(): Context {
  try {
    return context.active()
  } catch {
    return ROOT_CONTEXT
  }
}

/** The context that a caller wants something put into: the one given, else what is active. */
export function baseContext(given: unknown): Context {
  const isContext = typeof peek(given, 'setValue') === 'function' && typeof peek(given, 'getValue') === 'function'
  return isContext ? (given as Context) : active()
}

/**
 * The span that is active in the host.
 * @param isRemote spans of the host's do not come where ours go, so whoever reads these must not wait for it
 */
export function activeSpan(isRemote: boolean): SpanContext | undefined {
  const found = trace.getSpanContext(active())
  if (found === undefined || !isSpanContextValid(found)) return undefined
  return isRemote ? { ...found, isRemote } : found
}
