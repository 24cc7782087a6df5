import { elementsOf, isArray, keysOf, peek, textOf } from '../../contract/foreign.ts'
import type { Correlation, HookName } from '../../contract/index.ts'
import type { LoosePayload } from '../host-event.ts'
import type { TimedEvent } from './event-machine.ts'
import type { RecordScope, Records } from './records.ts'

/** A request to the user to approve a tool call. Each method emits once. Times are epoch milliseconds. */
export class Approval<Of extends RecordScope = RecordScope> {
  readonly turn: Of
  readonly toolId: string | undefined
  readonly pattern: unknown
  askedAt: number
  isAsked = false
  isAnswered = false

  constructor(turn: Of, toolId: string | undefined, pattern: unknown, askedAt: number) {
    this.turn = turn
    this.toolId = toolId
    this.pattern = pattern
    this.askedAt = askedAt
  }

  emitRequest(facts: LoosePayload<'pre_approval_request'>, correlation?: Correlation): void {
    if (this.isAsked) return
    this.isAsked = true
    const ids = { tool_call_id: this.toolId, pattern_key: this.pattern }
    this.turn.emit('pre_approval_request', this.askedAt, { ...facts, ...ids }, correlation)
  }

  emitResponse(at: number, choice: unknown, correlation?: Correlation, decidedBy?: string): void {
    if (this.isAnswered) return
    this.isAnswered = true
    const payload = { choice, decided_by: decidedBy, tool_call_id: this.toolId, pattern_key: this.pattern }
    this.turn.emit('post_approval_response', Math.max(at, this.askedAt), payload, correlation)
  }
}

/** The user's choice, for an agent that reports only the status of the tool. */
export function inferredChoice(status: string | undefined): 'deny' | 'cancelled' | 'once' {
  return status === 'blocked' ? 'deny' : status === 'cancelled' ? 'cancelled' : 'once'
}

/** One tool call, with an id unique in the turn. Start and end are emitted once. `facts` are new objects, which are modified. */
export class Tool<Of extends RecordScope = RecordScope> {
  readonly turn: Of
  id: string
  name: unknown
  args: unknown
  requestId: string | undefined
  startAt: number
  approval: Approval | undefined
  /** `asked`: requested by the model. `running`: start emitted. `ended`: end emitted. */
  state: 'asked' | 'running' | 'ended' = 'asked'

  constructor(turn: Of, id: string, name: unknown, startAt: number) {
    this.turn = turn
    this.id = id
    this.name = name
    this.startAt = startAt
  }

  describe(name: unknown, args: unknown): void {
    if (this.state !== 'asked') return
    this.name = textOf(name) ?? this.name
    this.args = args ?? this.args
  }

  requestApproval(at: number, facts: LoosePayload<'pre_approval_request'>, correlation?: Correlation): void {
    this.approval = new Approval(this.turn, this.id, this.name, at)
    this.approval.emitRequest(facts, correlation)
  }

  emitStart(correlation?: Correlation): void {
    if (this.state !== 'asked') return
    this.state = 'running'
    this.turn.emit('pre_tool_call', this.startAt, this.#withIds({ args: this.args }), correlation)
  }

  emitEnd(at: number, facts: LoosePayload<'post_tool_call'>, correlation?: Correlation): void {
    if (this.state === 'ended') return
    this.state = 'ended'
    this.turn.emit('post_tool_call', at, this.#withIds(facts), correlation)
  }

  #withIds(payload: { tool_call_id?: unknown; api_request_id?: unknown; tool_name?: unknown; args?: unknown }): object {
    payload.tool_call_id = this.id
    payload.api_request_id = this.requestId
    payload.tool_name = this.name
    return payload
  }
}

const LONGEST = 20_000
const PARTS_LIMIT = 1000
const DEPTH_LIMIT = 20

/**
 * Returns the name and input of a tool as one string, independent of the order of the input's fields. Long input is truncated.
 */
export function toolKey(name: unknown, input: unknown): string {
  const parts = [JSON.stringify(name) ?? '']
  let length = 0
  const put = (text: string): void => {
    length += text.length
    parts.push(text)
  }
  const write = (value: unknown, depth: number): void => {
    if (length > LONGEST || depth > DEPTH_LIMIT) return
    if (isArray(value)) {
      put('[')
      for (const one of elementsOf(value, PARTS_LIMIT)) write(one, depth + 1)
      put(']')
    } else if (typeof value === 'object' && value !== null) {
      put('{')
      for (const key of [...keysOf(value, PARTS_LIMIT)].sort()) {
        put(JSON.stringify(key))
        write(peek(value, key), depth + 1)
      }
      put('}')
    } else put(typeof value === 'string' ? JSON.stringify(value.slice(0, LONGEST)) : String(value))
  }
  write(input, 0)
  return parts.join(' ')
}

type ControlHookName = Extract<HookName, `${string}_control_hook`>
type Payload = LoosePayload<'post_control_hook'>

interface ControlHookRecord {
  readonly hook: ControlHookName
  readonly at: number
  readonly payload: Payload
}

/** Reads a control hook that its adapter has passed to the machine as an event. */
export function controlHookOf({ event, at, data }: TimedEvent): ControlHookRecord {
  return { hook: event as ControlHookName, at, payload: data as Payload }
}

/**
 * Control hooks that look at the tool calls of one turn, in an SDK that runs them before it reports the start of the tool.
 * Their records are buffered until then, so that their spans stand below that of the tool. Over 1000, the oldest record is
 * emitted without its tool.
 */
export class ToolHooks {
  readonly #turn: RecordScope
  #buffered: ControlHookRecord[] = []

  constructor(turn: RecordScope) {
    this.#turn = turn
  }

  get isEmpty(): boolean {
    return this.#buffered.length === 0
  }

  receive(record: ControlHookRecord, running: Tool | undefined): void {
    if (running !== undefined) {
      this.#emit(record, running.id)
      return
    }
    this.#buffered.push(record)
    const oldest = this.#buffered.length > 1000 ? this.#buffered.shift() : undefined
    if (oldest !== undefined) this.#emit(oldest)
  }

  /**
   * Emits the start of a tool, at the time of its first hook, and its hooks below it. Returns the time of its last hook record.
   *
   * @param callId the id of the call in the SDK
   */
  startTool(tool: Tool, callId: string = tool.id): number | undefined {
    const own = this.isEmpty ? [] : this.#buffered.filter(({ payload }) => payload.tool_call_id === callId)
    const [first] = own
    if (first === undefined) {
      tool.emitStart()
      return undefined
    }
    this.#buffered = this.#buffered.filter(record => !own.includes(record))
    tool.startAt = Math.min(tool.startAt, first.at)
    tool.emitStart()
    for (const record of own) this.#emit(record, tool.id)
    return own.at(-1)?.at
  }

  flush(): void {
    for (const record of this.#buffered.splice(0)) this.#emit(record)
  }

  #emit({ hook, at, payload }: ControlHookRecord, toolId = payload.tool_call_id): void {
    this.#turn.emit(hook, at, { ...payload, tool_call_id: toolId })
  }
}

interface DelegatedTaskEnd {
  readonly status: string
  readonly summary?: unknown
  readonly durationMillis?: number | undefined
}

/** A task that one agent delegates to another, as seen by the delegating agent. Times are epoch milliseconds. */
export class DelegatedTask {
  readonly ids: LoosePayload<'subagent_stop'>
  readonly startAt: number
  readonly #records: Records
  hasEnded = false

  constructor(parent: RecordScope, startAt: number, ids: LoosePayload<'subagent_stop'>) {
    this.#records = parent.records
    this.startAt = startAt
    this.ids = { parent_session_id: parent.sessionId, parent_turn_id: parent.turnId, ...ids }
  }

  emitStart(goal: unknown, correlation?: Correlation): void {
    this.#records.addRecord('subagent_start', this.startAt, { ...this.ids, child_goal: goal }, correlation)
  }

  emitEnd(at: number, { status, summary, durationMillis }: DelegatedTaskEnd, correlation?: Correlation): void {
    if (this.hasEnded) return
    this.hasEnded = true
    const end = { child_status: status, child_summary: summary, duration_ms: durationMillis }
    this.#records.addRecord('subagent_stop', at, { ...this.ids, ...end }, correlation)
  }
}

interface ChildTaskIds {
  readonly agentId: string
  readonly role?: unknown
  readonly callId: string | undefined
}

/** A task for a child agent with a session of its own. @param at when the child began */
export function childTask(parent: RecordScope, at: number, { agentId, role, callId }: ChildTaskIds): DelegatedTask {
  const child = { child_session_id: agentId, child_subagent_id: agentId, child_role: role }
  return new DelegatedTask(parent, at, { ...child, tool_call_id: callId })
}
