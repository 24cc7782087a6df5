import { idOf, peek } from '../../contract/foreign.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import type { HostEvent } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'
import { type Call, Session } from './session.ts'

/** Sessions that are over, of which something may still come late, and queries that run. */
const LIMIT = 1000

/** Which session an event belongs to. A query has one, or several when the conversation is cleared. */
export class LiveSessions {
  readonly #sessions: SessionStates<Session>
  readonly #over = new LimitedMap<string, true>(LIMIT)
  readonly #queries = new LimitedMap<string, Set<string>>(LIMIT)

  constructor(records: Records) {
    this.#sessions = new SessionStates(id => new Session(records, id))
  }

  /** @param mayReopen the event begins something: a session that was over goes on, as one that is resumed does */
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

  /** The sessions of a query, which is over. */
  takeQuery(query: string): Session[] {
    const sessions = this.#ofQuery(query)
    this.#queries.delete(query)
    return sessions
  }

  /** Calls with this id that run: several, where sessions that nothing tells apart use the same. */
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
    return ids.flatMap(id => this.#sessions.look(id) ?? [])
  }

  #idsOf(query: string): Set<string> {
    const known = this.#queries.get(query)
    if (known !== undefined) return known
    const ids = new Set<string>()
    this.#queries.set(query, ids)
    return ids
  }
}
