import { idOf, peek } from '../../contract/foreign.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import type { ClaudeCall } from '../claude-code/session.ts'
import type { HostEvent } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'
import { SdkSession } from './session.ts'

const SESSIONS_LIMIT = 1000

/** Finds the session of an event. A query has one session, or several if the conversation is cleared. */
export class LiveSessions {
  readonly #sessions: SessionStates<SdkSession>
  readonly #ended = new LimitedMap<string, true>(SESSIONS_LIMIT)
  readonly #queries = new LimitedMap<string, Set<string>>(SESSIONS_LIMIT)

  constructor(records: Records) {
    this.#sessions = new SessionStates(id => new SdkSession(records, id))
  }

  /** @param mayReopen true if the event can start a session: an ended session continues, for example after a resume */
  findSession(event: HostEvent, mayReopen: boolean): SdkSession | undefined {
    const id = idOf(peek(event.data, 'session_id'))
    if (id === undefined || (this.#ended.has(id) && !mayReopen)) return undefined
    this.#ended.delete(id)
    const query = idOf(peek(event.context, 'query'))
    if (query !== undefined) this.#queries.recall(query, () => new Set()).add(id)
    const session = this.#sessions.get(id)
    session.noteWorkspace(event.data)
    return session
  }

  all(): SdkSession[] {
    return this.#sessions.values()
  }

  closeQuery(query: string): SdkSession[] {
    const sessions = this.#ofQuery(query)
    this.#queries.delete(query)
    return sessions
  }

  /** Returns the running calls with this id. There are several if indistinguishable sessions use the same id. */
  findCalls(id: string, query: string | undefined): ClaudeCall[] {
    const sessions = query === undefined || !this.#queries.has(query) ? this.all() : this.#ofQuery(query)
    const calls: ClaudeCall[] = []
    for (const session of sessions) {
      const call = session.calls.get(id)
      if (call?.state === 'running') calls.push(call)
    }
    return calls
  }

  closeSession(session: SdkSession): void {
    this.#sessions.delete(session.id)
    this.#ended.set(session.id, true)
  }

  #ofQuery(query: string): SdkSession[] {
    const ids = [...(this.#queries.get(query) ?? [])]
    return ids.flatMap(id => this.#sessions.find(id) ?? [])
  }
}
