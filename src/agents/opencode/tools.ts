import { booleanOf, elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { plausibleTime } from '../base/event-machine.ts'
import { type ToolCallPart, wrapJson } from '../base/messages.ts'
import type { RecordScope } from '../base/records.ts'
import { Approval, Tool } from '../base/tool.ts'

const PATTERNS_LIMIT = 16
const CHOICES: ReadonlyMap<unknown, string> = new Map([
  ['once', 'once'],
  ['always', 'always'],
  ['reject', 'deny'],
])

/**
 * A permission that the user was asked for. Older versions have `permission.updated` instead of `permission.asked`, with
 * different fields.
 */
export class Permission extends Approval {
  readonly #data: unknown

  constructor(turn: RecordScope, askedAt: number, data: unknown, toolId: string | undefined) {
    super(turn, toolId, textOf(peek(data, 'permission')) ?? textOf(peek(data, 'type')), askedAt)
    this.#data = data
  }

  emitQuestion(): void {
    if (this.isAsked) return
    const metadata = peek(this.#data, 'metadata')
    const patterns = elementsOf(peek(this.#data, 'patterns') ?? peek(this.#data, 'pattern'), PATTERNS_LIMIT).map(textOf)
    this.emitRequest({
      pattern_keys: patterns.filter(pattern => pattern !== undefined),
      command: peek(metadata, 'command') ?? patterns[0],
      description: peek(this.#data, 'title') ?? peek(metadata, 'description'),
    })
  }

  emitReply(at: number, choice: string): void {
    this.emitQuestion()
    this.emitResponse(at, choice)
  }
}

export class Permissions {
  readonly #turn: RecordScope
  readonly #byId = new Map<string, Permission>()

  constructor(turn: RecordScope) {
    this.#turn = turn
  }

  addPermission(at: number, data: unknown, toolId: string | undefined): Permission | undefined {
    const id = idOf(peek(data, 'id'))
    if (id === undefined || this.#byId.has(id)) return undefined
    const permission = new Permission(this.#turn, at, data, toolId)
    this.#byId.set(id, permission)
    return permission
  }

  pendingPermission(data: unknown): Permission | undefined {
    const permission = this.#byId.get(idOf(peek(data, 'requestID')) ?? idOf(peek(data, 'permissionID')) ?? '')
    return permission?.isAnswered ? undefined : permission
  }

  cancelPermissions(at: number, toolId?: string): void {
    for (const permission of this.#byId.values()) {
      const isMeant = toolId === undefined || permission.toolId === toolId
      if (isMeant && !permission.isAnswered) permission.emitReply(at, 'cancelled')
    }
  }
}

export function choiceOf(data: unknown): string {
  const reply = peek(data, 'reply') ?? peek(data, 'response')
  return CHOICES.get(reply) ?? textOf(reply) ?? 'unknown'
}

const CALLS_LIMIT = 5000
/** opencode's message for a call that a configuration rule forbids, without asking the user. */
const FORBIDDEN = 'The user has specified a rule which prevents you'

export class OpencodeToolCall extends Tool {
  messageId: string | undefined
  /** Permissions requested before the tool starts, which are emitted after its start. */
  readonly bufferedPermissions: Permission[] = []
  isRefused = false
  isDismissed = false
  childId: string | undefined

  startTool(at: number, state: unknown): void {
    if (this.state !== 'asked') return
    this.args = peek(state, 'input')
    this.startAt = timeOf(state, 'start', at)
    this.emitStart()
    for (const permission of this.bufferedPermissions.splice(0)) permission.emitQuestion()
  }

  /**
   * Handles `completed` or `error`.
   *
   * @param isStopped true if the user has stopped the run: a tool that ends then was cut off, whatever its status
   */
  endTool(at: number, state: unknown, isStopped: boolean): void {
    const endedAt = Math.max(this.startAt, timeOf(state, 'end', at))
    this.emitEnd(endedAt, { duration_ms: endedAt - this.startAt, ...outcome(this, state, isStopped) })
  }
}

/** The tool calls of a turn, read from the states of their parts: a failed call appears nowhere else. */
export class ToolCalls {
  readonly #turn: RecordScope
  readonly #calls = new Map<string, OpencodeToolCall>()
  readonly #byCallId = new Map<string, OpencodeToolCall>()

  constructor(turn: RecordScope) {
    this.#turn = turn
  }

  find(callId: string | undefined): OpencodeToolCall | undefined {
    return callId === undefined ? undefined : this.#byCallId.get(callId)
  }

  known(part: unknown): OpencodeToolCall | undefined {
    return this.#calls.get(keyOf(part) ?? '')
  }

  add(part: unknown, at: number, requestId: string | undefined): OpencodeToolCall | undefined {
    const key = keyOf(part)
    if (key === undefined) return undefined
    const toldId = idOf(peek(part, 'callID')) ?? key
    // Some models reuse call ids in every step.
    const id = this.#byCallId.has(toldId) ? `${toldId}:${this.#calls.size}` : toldId
    const call = new OpencodeToolCall(this.#turn, id, textOf(peek(part, 'tool')), at)
    call.messageId = idOf(peek(part, 'messageID'))
    call.requestId = requestId
    this.#calls.set(key, call)
    // Permission events use the model's id; already emitted permissions use the unique id.
    this.#byCallId.set(toldId, call)
    this.#byCallId.set(id, call)
    if (this.#calls.size > CALLS_LIMIT) this.#forgetOldest()
    return call
  }

  withoutChild(): OpencodeToolCall[] {
    return [...this.#calls.values()].filter(
      ({ state, name, childId }) => state !== 'ended' && name === 'task' && childId === undefined,
    )
  }

  haveBegun(messageId: string | undefined): boolean {
    for (const call of this.#calls.values()) if (call.messageId === messageId && call.state !== 'asked') return true
    return false
  }

  calledIn(messageId: string | undefined): ToolCallPart[] {
    const calls: ToolCallPart[] = []
    for (const call of this.#calls.values()) {
      if (call.messageId === messageId) calls.push({ id: call.id, name: call.name, arguments: call.args })
    }
    return calls
  }

  #forgetOldest(): void {
    for (const [key, { state }] of this.#calls) {
      if (state !== 'ended') continue
      this.#calls.delete(key)
      return
    }
  }
}

/** Uses the part's id, because a call id can be reused in the next step. */
function keyOf(part: unknown): string | undefined {
  return idOf(peek(part, 'id')) ?? idOf(peek(part, 'callID'))
}

function timeOf(state: unknown, which: 'start' | 'end', at: number): number {
  return plausibleTime(peek(peek(state, 'time'), which), at)
}

function outcome(call: OpencodeToolCall, state: unknown, isStopped: boolean): Readonly<Record<string, unknown>> {
  if (peek(state, 'status') === 'completed')
    return { status: isStopped ? 'cancelled' : 'ok', result: wrapJson(peek(state, 'output')) }
  const error_message = textOf(peek(state, 'error'))
  const status = isStopped ? 'cancelled' : failedStatus(call, state, error_message)
  return status === 'error' ? { status, error_type: 'tool_error', error_message } : { status, error_message }
}

function failedStatus(call: OpencodeToolCall, state: unknown, message: string | undefined): string {
  if (call.isRefused || message?.startsWith(FORBIDDEN)) return 'blocked'
  const isInterrupted = booleanOf(peek(peek(state, 'metadata'), 'interrupted')) === true
  return isInterrupted || call.isDismissed ? 'cancelled' : 'error'
}
