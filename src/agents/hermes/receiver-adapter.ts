import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { timestampOf } from '../base/event-machine.ts'
import type { ReceiverAdapter } from '../receiver-adapter.ts'

/** Hooks whose session is that of the parent, although the wire format has only `session_id`. */
const DELEGATIONS: ReadonlySet<string> = new Set(['subagent_start', 'subagent_stop'])
const TURN_STARTS: ReadonlySet<string> = new Set(['on_session_start', 'pre_llm_call'])
/** A Python object, serialised by Python's `repr`; its text is in `response`. */
const UNREADABLE = 'assistant_message'

/** Endpoint for outbound webhooks and shell hooks. Each becomes the hook record that a plugin in Hermes would emit. */
export const hermes: ReceiverAdapter = {
  events: ({ body, at }) => {
    const event = textOf(peek(body, 'hook_event_name'))
    const wire = body as Partial<WireHook>
    if (event === undefined) return []
    const context = { delivery_id: idOf(wire.delivery_id) }
    return [{ event, at: timestampOf(wire) ?? at, data: payloadOf(event, wire), context }]
  },
}

function payloadOf(hook: string, { extra, session_id, tool_name, tool_input, cwd }: Partial<WireHook>): object {
  // Spreads to nothing if `extra` is not an object.
  const { [UNREADABLE]: _, ...fields } = { ...extra }
  const session = DELEGATIONS.has(hook) ? 'parent_session_id' : 'session_id'
  return {
    ...fields,
    ...(session_id && { [session]: session_id }),
    ...(cwd && TURN_STARTS.has(hook) && { cwd }),
    ...(tool_name && { tool_name }),
    ...(tool_input && { args: tool_input }),
  }
}

/**
 * The body of Hermes' outbound webhooks, and the standard input of its shell hooks (read in 0.22.2; 0.19 has only shell hooks).
 * Any field may be missing or of another type. `extra`: all other arguments of a Python plugin, except `parent_session_id`.
 * `delivery_id` (the same for a repeated delivery) and `timestamp` (when the hook fired, ISO 8601): webhooks only.
 */
export interface WireHook {
  readonly hook_event_name: string
  readonly tool_name: string | null
  readonly tool_input: object | null
  readonly session_id: string
  readonly cwd: string
  readonly extra: Readonly<Record<string, unknown>>
  readonly delivery_id?: string
  readonly timestamp?: string
}
