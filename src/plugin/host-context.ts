import { type Context, context, isSpanContextValid, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api'
import { peek } from '../contract/foreign.ts'

/** The host's active context. A context manager that throws is ignored. */
function active(): Context {
  try {
    return context.active()
  } catch {
    return ROOT_CONTEXT
  }
}

export function baseContext(given: unknown): Context {
  const isContext = typeof peek(given, 'setValue') === 'function' && typeof peek(given, 'getValue') === 'function'
  return isContext ? (given as Context) : active()
}

/**
 * The span that is active in the host.
 * @param isRemote true if the host's spans go to another backend, so that readers of ours must not wait for their parent
 */
export function activeSpan(isRemote: boolean): SpanContext | undefined {
  const found = trace.getSpanContext(active())
  if (found === undefined || !isSpanContextValid(found)) return undefined
  return isRemote ? { ...found, isRemote } : found
}
