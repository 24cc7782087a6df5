import { booleanOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import type { Approval } from './approvals.ts'
import type { TurnIds } from './moment.ts'

/** Calls of a turn that are remembered; those beyond are the oldest, and have ended. */
const CALLS_LIMIT = 5000
const HEAD = 64
const DAY_MILLIS = 86_400_000
/** opencode's own words for a call that a rule of the configuration forbids: nobody was asked. */
const FORBIDDEN = 'The user has specified a rule which prevents you'

export interface ToolCall {
  readonly callId: string
  readonly name: unknown
  readonly messageId: string | undefined
  readonly requestId: string | undefined
  state: 'pending' | 'running' | 'ended'
  /** Epoch milliseconds. */
  startedAt: number
  args: unknown
  /** Who was asked before it has begun to run is told when it does. */
  readonly held: Approval[]
  isRefused: boolean
  isDismissed: boolean
  /** Session of the child that it has started. */
  childId: string | undefined
}

/** The tool calls of a turn, from the states of their parts: of a call that failed nothing else is told. */
export class ToolCalls {
  readonly #ids: TurnIds
  readonly #calls = new Map<string, ToolCall>()
  readonly #byCallId = new Map<string, ToolCall>()

  constructor(ids: TurnIds) {
    this.#ids = ids
  }

  find(callId: string | undefined): ToolCall | undefined {
    return callId === undefined ? undefined : this.#byCallId.get(callId)
  }

  known(part: unknown): ToolCall | undefined {
    return this.#calls.get(keyOf(part) ?? '')
  }

  add(part: unknown, at: number, requestId: string | undefined): ToolCall | undefined {
    const key = keyOf(part)
    if (key === undefined) return undefined
    const call: ToolCall = {
      callId: this.#freeId(idOf(peek(part, 'callID')) ?? key),
      name: peek(part, 'tool'),
      messageId: idOf(peek(part, 'messageID')),
      requestId,
      state: 'pending',
      startedAt: at,
      args: undefined,
      held: [],
      isRefused: false,
      isDismissed: false,
      childId: undefined,
    }
    this.#calls.set(key, call)
    // Who asks names it as the model did; what we have asked, as we do.
    this.#byCallId.set(idOf(peek(part, 'callID')) ?? key, call)
    this.#byCallId.set(call.callId, call)
    if (this.#calls.size > CALLS_LIMIT) this.#forgetOldest()
    return call
  }

  /** The tool begins to run, with all of its arguments. */
  start(call: ToolCall, at: number, state: unknown): HookRecord[] {
    if (call.state !== 'pending') return []
    call.state = 'running'
    call.args = peek(state, 'input')
    call.startedAt = timeOf(state, 'start', at)
    const { callId: tool_call_id, requestId: api_request_id, name } = call
    const payload = { ...this.#ids, tool_call_id, api_request_id, tool_name: textOf(name), args: call.args }
    return [hookRecord('pre_tool_call', call.startedAt, payload)]
  }

  /**
   * `completed` or `error`.
   *
   * @param isStopped whether the person has stopped the run: a tool that ends then was cut off, whatever it says
   */
  end(call: ToolCall, at: number, state: unknown, isStopped: boolean): HookRecord[] {
    if (call.state === 'ended') return []
    call.state = 'ended'
    const endedAt = Math.max(call.startedAt, timeOf(state, 'end', at))
    const { callId: tool_call_id, requestId: api_request_id, name } = call
    return [
      hookRecord('post_tool_call', endedAt, {
        ...this.#ids,
        tool_call_id,
        api_request_id,
        tool_name: textOf(name),
        duration_ms: endedAt - call.startedAt,
        ...outcome(call, state, isStopped),
      }),
    ]
  }

  /** Calls that run and may have started a child: those of a tool that tells no child yet. */
  withoutChild(): ToolCall[] {
    return [...this.#calls.values()].filter(
      ({ state, name, childId }) => state !== 'ended' && name === 'task' && childId === undefined,
    )
  }

  /** Whether a call of this message has been told with its arguments. */
  haveBegun(messageId: string | undefined): boolean {
    return [...this.#calls.values()].some(call => call.messageId === messageId && call.state !== 'pending')
  }

  calledIn(messageId: string | undefined): { id: string; name: unknown; arguments: unknown }[] {
    return [...this.#calls.values()]
      .filter(call => call.messageId === messageId)
      .map(({ callId, name, args }) => ({ id: callId, name, arguments: args }))
  }

  /** Some models number their calls anew in every step. */
  #freeId(callId: string): string {
    return this.#byCallId.has(callId) ? `${callId}:${this.#calls.size}` : callId
  }

  #forgetOldest(): void {
    for (const [key, { state }] of this.#calls) {
      if (state !== 'ended') continue
      this.#calls.delete(key)
      return
    }
  }
}

/** A part has an id of its own; a call id can come again in the next step. */
function keyOf(part: unknown): string | undefined {
  return idOf(peek(part, 'id')) ?? idOf(peek(part, 'callID'))
}

/** The part's own time, when it can be: before it was told, and not by days. */
function timeOf(state: unknown, which: 'start' | 'end', at: number): number {
  const told = numberOf(peek(peek(state, 'time'), which)) ?? at
  return told <= at && told > at - DAY_MILLIS ? told : at
}

/** Text that looks like JSON goes in an object: a file that a tool has read is no word about the tool. */
function resultOf(state: unknown): unknown {
  const output = peek(state, 'output')
  if (typeof output !== 'string') return output
  return output.slice(0, HEAD).trimStart()[0] === '{' ? { output } : output
}

function outcome(call: ToolCall, state: unknown, isStopped: boolean): Readonly<Record<string, unknown>> {
  if (peek(state, 'status') === 'completed') return { status: isStopped ? 'cancelled' : 'ok', result: resultOf(state) }
  const error_message = textOf(peek(state, 'error'))
  const status = isStopped ? 'cancelled' : failedStatus(call, state, error_message)
  return status === 'error' ? { status, error_type: 'tool_error', error_message } : { status, error_message }
}

function failedStatus(call: ToolCall, state: unknown, message: string | undefined): string {
  if (call.isRefused || message?.startsWith(FORBIDDEN)) return 'blocked'
  const isInterrupted = booleanOf(peek(peek(state, 'metadata'), 'interrupted')) === true
  return isInterrupted || call.isDismissed ? 'cancelled' : 'error'
}
