import { idOf, peek } from '../../contract/foreign.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import type { HostEvent } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'
import { type Call, Session } from './session.ts'

/** Limit of ended sessions, which late events may name, and of running queries. */
const LIMIT = 1000

/** Finds the session of an event. A query has one session, or several if the conversation is cleared. */
export class LiveSessions {
  readonly #sessions: SessionStates<Session>
  readonly #over = new LimitedMap<string, true>(LIMIT)
  readonly #queries = new LimitedMap<string, Set<string>>(LIMIT)

  constructor(records: Records) {
    this.#sessions = new SessionStates(id => new Session(records, id))
  }

  /** @param mayReopen true if the event can start a session: an ended session continues, for example after a resume */
  of(event: HostEvent, mayReopen: boolean): Session | undefined {
    const id = idOf(peek(event.data, 'session_id'))
    if (id === undefined || (this.#over.has(id) && !mayReopen)) return undefined
    this.#over.delete(id)
    const query = idOf(peek(event.context, 'query'))
    if (query !== undefined) this.#idsOf(query).add(id)
    return this.#sessions.get(id)
  }

  all(): Session[] {
    return this.#sessions.values()
  }

  takeQuery(query: string): Session[] {
    const sessions = this.#ofQuery(query)
    this.#queries.delete(query)
    return sessions
  }

  /** Returns the running calls with this id. There are several if indistinguishable sessions use the same id. */
  callsNamed(id: string, query: string | undefined): Call[] {
    const sessions = query === undefined || !this.#queries.has(query) ? this.all() : this.#ofQuery(query)
    const calls: Call[] = []
    for (const session of sessions) {
      const call = session.calls.get(id)
      if (call?.state === 'running') calls.push(call)
    }
    return calls
  }

  close(session: Session): void {
    this.#sessions.delete(session.id)
    this.#over.set(session.id, true)
  }

  #ofQuery(query: string): Session[] {
    const ids = [...(this.#queries.get(query) ?? [])]
    return ids.flatMap(id => this.#sessions.find(id) ?? [])
  }

  #idsOf(query: string): Set<string> {
    const known = this.#queries.get(query)
    if (known !== undefined) return known
    const ids = new Set<string>()
    this.#queries.set(query, ids)
    return ids
  }
}
