import { idOf, peek } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { approvalAnswered, askApproval } from './calls.ts'
import type { LiveSessions } from './live-sessions.ts'
import type { Call } from './session.ts'

/** Limit of approvals that precede the hook of their tool. */
const EARLY_LIMIT = 100

/** Handles `canUseTool`, which has a tool call id and no session id. */
export class Approvals {
  readonly #sessions: LiveSessions
  readonly #early = new LimitedMap<string, TimedEvent[]>(EARLY_LIMIT)

  constructor(sessions: LiveSessions) {
    this.#sessions = sessions
  }

  take(moment: TimedEvent): void {
    const id = idOf(peek(moment.data, 'toolUseID'))
    if (id === undefined) return
    const query = idOf(peek(moment.context, 'query'))
    const [call, ...others] = this.#sessions.callsNamed(id, query)
    if (call !== undefined && others.length === 0) told(call, moment)
    else this.#keep(`${query} ${id}`, moment)
  }

  /** Emits the buffered approvals of a tool that has started. */
  started(call: Call, { context }: TimedEvent): void {
    if (this.#early.size === 0) return
    const key = `${idOf(peek(context, 'query'))} ${call.id}`
    const early = this.#early.get(key) ?? []
    this.#early.delete(key)
    for (const moment of early) told(call, moment)
  }

  #keep(key: string, moment: TimedEvent): void {
    const known = this.#early.get(key)
    if (known === undefined) this.#early.set(key, [moment])
    else if (known.length < EARLY_LIMIT) known.push(moment)
  }
}

function told(call: Call, { event, at, data }: TimedEvent): void {
  if (event === 'canUseTool') askApproval(call, at, 'canUseTool', data)
  else approvalAnswered(call, at, data)
}
