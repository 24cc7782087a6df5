import { isSpanContextValid, type SpanContext } from '@opentelemetry/api'
import { idOf, peek } from '../contract/foreign.ts'
import type { TrackedTurn } from './turn.ts'
import { idsOf, type TurnRegistry } from './turn-registry.ts'

/** W3C trace context, version 00 and the parts that later versions must keep. */
const TRACEPARENT = /^(?!ff)(?:00(?=.{53}$)|(?!00)[0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/

export function parseTraceparent(value: unknown): SpanContext | undefined {
  const [, traceId, spanId, flags] = (typeof value === 'string' && TRACEPARENT.exec(value.trim())) || []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
  return isSpanContextValid(context) ? context : undefined
}

export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}

export interface NamedSpan {
  readonly context: SpanContext
  readonly turn: TrackedTurn | undefined
}

/** The span that a log line belongs to: that of its `traceparent`, else the open span that its ids name. */
export function spanBeside(registry: TurnRegistry, about: unknown, host: string): NamedSpan | undefined {
  const parsed = parseTraceparent(peek(about, 'traceparent'))
  return parsed === undefined ? namedSpan(registry, about ?? {}, host) : { context: parsed, turn: undefined }
}

/**
 * The open span that ids name: the tool itself, or for a turn its request, else its loop, else its root. Undefined if
 * it is not open, and if the user's own tracer provider records nothing.
 *
 * @param pluginHost host of ids that name none
 */
export function namedSpan(registry: TurnRegistry, ids: unknown, pluginHost: string): NamedSpan | undefined {
  if (typeof ids !== 'object' || ids === null) return undefined
  const host = idOf(peek(ids, 'host')) ?? pluginHost
  const named = idsOf('pre_tool_call', ids as Readonly<Record<string, unknown>>, host)
  const turn = registry.find(named)
  if (turn === undefined) return undefined
  const open =
    named.toolCallId === undefined
      ? (turn.open.innermost('api') ?? turn.open.innermost('llm') ?? turn.root)
      : turn.openSpan('tool', named.toolCallId)
  const context = open?.span.spanContext()
  return context !== undefined && isSpanContextValid(context) ? { context, turn } : undefined
}
