import { idOf, peek } from '../../contract/foreign.ts'
import type { HostEvent } from '../host-event.ts'
import { approvalAnswered, askApproval } from './calls.ts'
import type { LiveSessions } from './live-sessions.ts'
import type { Call, Out } from './session.ts'

/** Tools that were asked about before a hook had told of them. */
const EARLY_LIMIT = 100

/** `canUseTool`, which knows its tool call but no session. */
export class Approvals {
  readonly #sessions: LiveSessions
  readonly #early = new Map<string, HostEvent[]>()

  constructor(sessions: LiveSessions) {
    this.#sessions = sessions
  }

  take(out: Out, event: HostEvent, at: number): void {
    const id = idOf(peek(event.data, 'toolUseID'))
    if (id === undefined) return
    const query = idOf(peek(event.context, 'query'))
    const [call, ...others] = this.#sessions.callsNamed(id, query)
    if (call !== undefined && others.length === 0) told(out, call, event, at)
    else this.#keep(`${query} ${id}`, { ...event, at })
  }

  /** The tool is known now. */
  started(out: Out, call: Call | undefined, event: HostEvent, at: number): void {
    if (call === undefined || this.#early.size === 0) return
    const key = `${idOf(peek(event.context, 'query'))} ${call.id}`
    const early = this.#early.get(key) ?? []
    this.#early.delete(key)
    for (const one of early) told(out, call, one, one.at ?? at)
  }

  #keep(key: string, event: HostEvent): void {
    const known = this.#early.get(key)
    if (known === undefined) this.#early.set(key, [event])
    else if (known.length < EARLY_LIMIT) known.push(event)
    const [oldest] = this.#early.keys()
    if (this.#early.size > EARLY_LIMIT && oldest !== undefined) this.#early.delete(oldest)
  }
}

function told(out: Out, call: Call, { event, data }: HostEvent, at: number): void {
  if (event === 'canUseTool') askApproval(out, call, at, 'canUseTool', data)
  else approvalAnswered(out, call, at, data)
}
