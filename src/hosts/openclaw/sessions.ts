import { SessionStates } from '../session-states.ts'
import type { Facts } from './facts.ts'
import { newSession, type Session } from './state.ts'

type Names = Pick<Facts, 'sessionKey' | 'sessionId'>

/** Sessions by their keys and by their ids: some events have both, `before_message_write` has the key alone. */
export class Sessions {
  readonly #sessions = new SessionStates(newSession)
  /** Which of their names they are kept under. */
  readonly #ofKey = new SessionStates(name => ({ name }))
  readonly #ofId = new SessionStates(name => ({ name }))

  /** The session that an event is about; undefined where it names none. */
  of({ sessionKey, sessionId }: Names): Session | undefined {
    const name = this.#nameOf(sessionKey, sessionId)
    if (name === undefined) return undefined
    const session = this.#sessions.get(name)
    session.key ??= sessionKey
    session.id = sessionId ?? session.id
    return session
  }

  #nameOf(key: string | undefined, id: string | undefined): string | undefined {
    const known = (key && this.#ofKey.look(key)?.name) ?? (id && this.#ofId.look(id)?.name)
    const name = known ?? key ?? id
    if (name === undefined) return undefined
    if (key !== undefined && this.#ofKey.look(key) === undefined) this.#ofKey.get(key).name = name
    if (id !== undefined && this.#ofId.look(id) === undefined) this.#ofId.get(id).name = name
    return name
  }

  values(): Session[] {
    return this.#sessions.values()
  }
}
