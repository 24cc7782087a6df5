import { SessionStates } from '../session-states.ts'
import type { Delegation } from './delegations.ts'
import type { Facts } from './facts.ts'
import type { Run } from './run.ts'
import type { Compaction } from './side-work.ts'

/** A conversation. The host names it by a key that stays, and by an id that a reset replaces. */
export interface Session {
  key: string | undefined
  id: string | undefined
  /** The run that is under way. One after the other: the host queues what comes in the meantime. */
  run: Run | undefined
  lastRun: Run | undefined
  /** Whose work it is, where it is that of a sub-agent. */
  delegation: Delegation | undefined
  /** Session that it came from, where no run of that one asked for it. */
  parentName: string | undefined
  compaction: Compaction | undefined
  compactionCount: number
}

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

/** What its records call it. A sub-agent's session goes by its key: its parent tells it before it has an id. */
export function nameOf({ key, id, delegation }: Session): string | undefined {
  return delegation?.childKey ?? id ?? key
}

export function newSession(): Session {
  return {
    key: undefined,
    id: undefined,
    run: undefined,
    lastRun: undefined,
    delegation: undefined,
    parentName: undefined,
    compaction: undefined,
    compactionCount: 0,
  }
}
