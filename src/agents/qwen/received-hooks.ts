import { elementsOf, idOf, peek } from '../../contract/foreign.ts'
import { LimitedMap } from '../base/limited-map.ts'

const CALLS_LIMIT = 10_000
const BATCH_LIMIT = 1000
const ENDS: ReadonlySet<string> = new Set(['PostToolUse', 'PostToolUseFailure', 'PermissionDenied'])

/** Tracks received hooks of tool calls, and counts those that must have fired and never arrived. */
export class HeardHooks {
  /** True if the end was received, by id of each started call. */
  readonly #calls = new LimitedMap<string, boolean>(CALLS_LIMIT)
  readonly #agents = new LimitedMap<string, true>(CALLS_LIMIT)
  lost = 0

  note(event: string, data: unknown): void {
    const callId = idOf(peek(data, 'tool_call_id'))
    const agentId = idOf(peek(data, 'agent_id'))
    if (event === 'PreToolUse' && callId !== undefined && !this.#calls.has(callId)) this.#calls.set(callId, false)
    if (ENDS.has(event) && callId !== undefined && this.#calls.has(callId)) this.#calls.set(callId, true)
    if (event === 'PostToolBatch') this.#endBatch(data)
    if (agentId !== undefined) this.#noteAgent(event, agentId)
  }

  /** Counts missing end hooks: a tool that succeeded has fired one. */
  #endBatch(data: unknown): void {
    for (const call of elementsOf(peek(data, 'tool_calls'), BATCH_LIMIT)) {
      const id = idOf(peek(call, 'tool_call_id'))
      if (id === undefined || peek(call, 'status') !== 'success' || this.#calls.get(id) !== false) continue
      this.#calls.set(id, true)
      this.lost += 1
    }
  }

  /** Counts missing start hooks of child agents. An agent's id ends with that of its call. */
  #noteAgent(event: string, agentId: string): void {
    if (this.#agents.has(agentId)) return
    this.#agents.set(agentId, true)
    if (event === 'SubagentStart') return
    if ([...this.#calls.keys()].some(callId => agentId.endsWith(`-${callId}`))) this.lost += 1
  }
}
