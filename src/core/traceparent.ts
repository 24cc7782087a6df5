import { isSpanContextValid, type SpanContext } from '@opentelemetry/api'
import { idOf, peek } from '../contract/foreign.ts'
import { idsOf } from './incoming.ts'
import type { Turn } from './turn.ts'
import type { TurnRegistry } from './turn-registry.ts'

/** W3C trace context, version 00 and what later versions must keep. */
const TRACEPARENT = /^(?!ff)(?:00(?=.{53}$)|(?!00)[0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/

/** A W3C `traceparent` as a remote span context; undefined when it is none. */
export function parseTraceparent(value: unknown): SpanContext | undefined {
  const [, traceId, spanId, flags] = (typeof value === 'string' && TRACEPARENT.exec(value.trim())) || []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
  return isSpanContextValid(context) ? context : undefined
}

export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}

/** An open span, and the turn that it is a part of. */
export interface NamedSpan {
  readonly context: SpanContext
  readonly turn: Turn | undefined
}

/** Beside which a line of a log stands: that of its `traceparent`, else the open one that its ids name. */
export function spanBeside(registry: TurnRegistry, about: unknown, host: string): NamedSpan | undefined {
  const told = parseTraceparent(peek(about, 'traceparent'))
  return told === undefined ? namedSpan(registry, about ?? {}, host) : { context: told, turn: undefined }
}

/**
 * The open span that ids name: of a tool exactly that tool's, of a turn that of its request, else its loop, else its root.
 * Undefined when it is not open, and where a provider that was handed in records nothing.
 *
 * @param pluginHost of ids that name no host
 */
export function namedSpan(registry: TurnRegistry, ids: unknown, pluginHost: string): NamedSpan | undefined {
  if (typeof ids !== 'object' || ids === null) return undefined
  const named = idsOf('pre_tool_call', ids as Readonly<Record<string, unknown>>)
  const turn = registry.find(idOf(peek(ids, 'host')) ?? pluginHost, named)
  if (turn === undefined) return undefined
  const open =
    named.toolCallId === undefined
      ? (turn.innermost('api') ?? turn.innermost('llm') ?? turn.root)
      : turn.openTool(named.toolCallId)
  const context = open?.span.spanContext()
  return context !== undefined && isSpanContextValid(context) ? { context, turn } : undefined
}
