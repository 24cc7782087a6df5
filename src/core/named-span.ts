import { isSpanContextValid, type SpanContext } from '@opentelemetry/api'
import { idOf, peek } from '../contract/foreign.ts'
import { idsOf } from './record-ids.ts'
import type { TurnRegistry } from './turn-registry.ts'

/**
 * The open span that ids name: of a tool exactly that tool's, of a turn that of its request, else its loop, else its root.
 * Undefined when it is not open, and where a provider that was handed in records nothing.
 *
 * @param pluginHost of ids that name no host
 */
export function namedSpan(registry: TurnRegistry, ids: unknown, pluginHost: string): SpanContext | undefined {
  if (typeof ids !== 'object' || ids === null) return undefined
  const named = idsOf('pre_tool_call', ids as Readonly<Record<string, unknown>>)
  const turn = registry.look(idOf(peek(ids, 'host')) ?? pluginHost, named)
  if (turn === undefined) return undefined
  const open =
    named.toolCallId === undefined
      ? (turn.stack.innermost('api') ?? turn.stack.innermost('llm') ?? turn.root)
      : turn.open.get(`tool ${named.toolCallId}`)
  const found = open?.span.spanContext()
  return found !== undefined && isSpanContextValid(found) ? found : undefined
}
