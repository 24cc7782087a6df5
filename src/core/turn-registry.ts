import { BoundedMap } from './bounded-map.ts'
import type { RecordIds } from './record-ids.ts'
import { type EndedTurn, newSession, type Session, type Turn } from './turn.ts'

/** Sessions without an open turn: forgetting one costs its numbering and its link to the previous turn. */
const IDLE_SESSIONS_LIMIT = 10_000
/** Finished turns whose late records still find their trace. */
const ENDED_TURNS_LIMIT = 1000
/** Records that name no turn are looked for among at most so many open ones. */
const SEARCH_LIMIT = 1000

function joint(...parts: (string | undefined)[]): string {
  return parts.join('\u0000')
}

function knowsRequest(turn: Turn, apiRequestId: string): boolean {
  return turn.open.has(`api ${apiRequestId}`) || turn.ended.has(`api ${apiRequestId}`)
}

/** Which turn a record belongs to, from explicit ids only. */
export class TurnRegistry {
  readonly #active = new Map<string, Session>()
  readonly #idle = new BoundedMap<string, Session>(IDLE_SESSIONS_LIMIT)
  readonly #open = new Map<string, Set<Turn>>()
  readonly #byTurnId = new Map<string, Set<Turn>>()
  readonly #ended = new BoundedMap<string, EndedTurn>(ENDED_TURNS_LIMIT)
  readonly #onAdopt: (turn: Turn) => void
  #openCount = 0

  /** @param onAdopt told when a turn that was opened without an id has got one */
  constructor(onAdopt: (turn: Turn) => void) {
    this.#onAdopt = onAdopt
  }

  get openCount(): number {
    return this.#openCount
  }

  /** A session by its id; records that name no session but a turn or a task share one under that name. */
  session(host: string, ids: RecordIds): Session {
    const key = this.#sessionKey(host, ids)
    const known = this.#active.get(key) ?? this.#idle.get(key)
    if (known !== undefined) return known
    const session = newSession(key, host, ids.sessionId)
    this.#idle.set(key, session)
    return session
  }

  knownSession(host: string, ids: RecordIds): Session | undefined {
    const key = this.#sessionKey(host, ids)
    return this.#active.get(key) ?? this.#idle.get(key)
  }

  /** Forgets a session whose identity is torn down: should the id come again, it is a new one. */
  forget(session: Session): void {
    this.#active.delete(session.key)
    this.#idle.delete(session.key)
  }

  /**
   * The open turn that a record belongs to.
   * @param begins the record begins a turn itself, so a turn of another session is none of its business
   */
  find(host: string, ids: RecordIds, begins: boolean): Turn | undefined {
    const session = this.knownSession(host, ids)
    if (ids.sessionId === undefined) return this.#findWithoutSession(host, ids, session)
    const own = session && this.#findInSession(session, ids)
    if (own !== undefined || ids.turnId === undefined || begins) return own
    return this.#findRotated(host, ids)
  }

  /** The finished turn that a late record belongs to: named by its id, or the session's last one by time. */
  findEnded(host: string, ids: RecordIds, at: number, begins: boolean): EndedTurn | undefined {
    const session = this.knownSession(host, ids)
    if (session === undefined) return undefined
    const key = ids.turnId === undefined ? session.lastEndedKey : this.#endedKey(session, ids.turnId)
    const ended = key === undefined ? undefined : this.#ended.get(key)
    if (ended === undefined) return undefined
    return (ids.turnId !== undefined && !begins) || at <= ended.endAt ? ended : undefined
  }

  add(turn: Turn): void {
    const { session, host } = turn
    session.turns.add(turn)
    if (!turn.isSide && turn.root !== undefined) session.main = turn
    this.#activate(session)
    this.#index(this.#open, host, turn)
    this.#openCount += 1
    if (turn.turnId !== undefined) this.#index(this.#byTurnId, joint(host, turn.turnId), turn)
  }

  /** A turn that was opened without an id takes the first one that its session brings. */
  adopt(turn: Turn, turnId: string): void {
    turn.turnId = turnId
    this.#index(this.#byTurnId, joint(turn.host, turnId), turn)
    this.#onAdopt(turn)
  }

  remove(turn: Turn): void {
    const { session, host } = turn
    session.turns.delete(turn)
    for (const holder of [session, ...turn.sharedWith]) {
      if (holder.main === turn) holder.main = undefined
      this.#deactivate(holder)
    }
    if (this.#unindex(this.#open, host, turn)) this.#openCount -= 1
    if (turn.turnId !== undefined) this.#unindex(this.#byTurnId, joint(host, turn.turnId), turn)
  }

  retain(ended: EndedTurn): void {
    const key = this.#endedKey(ended.session, ended.turnId ?? `#${ended.number}`)
    this.#ended.set(key, ended)
    ended.session.lastEndedKey = key
    ended.session.lastEndAt = Math.max(ended.session.lastEndAt, ended.endAt)
  }

  /** Late records are waited for as long as silent turns are. */
  forgetEndedBefore(at: number): void {
    for (const ended of this.#ended.takeWhile(ended => ended.endAt < at)) {
      if (ended.session.lastEndedKey !== undefined && !this.#ended.has(ended.session.lastEndedKey)) {
        ended.session.lastEndedKey = undefined
      }
    }
  }

  *openTurns(): Generator<Turn> {
    for (const turns of this.#open.values()) yield* turns
  }

  /** The only open turn of a host: what a record without any id may join. */
  onlyOpen(host: string): Turn | undefined {
    const turns = this.#open.get(host)
    return turns?.size === 1 ? turns.values().next().value : undefined
  }

  #findInSession(session: Session, { turnId }: RecordIds): Turn | undefined {
    if (turnId === undefined) return session.main ?? (session.turns.size === 1 ? [...session.turns][0] : undefined)
    for (const turn of session.turns) if (turn.turnId === turnId) return turn
    const { main } = session
    if (main === undefined || main.turnId !== undefined) return undefined
    this.adopt(main, turnId)
    return main
  }

  /** The session id has changed in the middle of the turn: the new session shares the turn from here on. */
  #findRotated(host: string, ids: RecordIds): Turn | undefined {
    const turn = this.#only(this.#byTurnId.get(joint(host, ids.turnId)))
    if (turn === undefined) return undefined
    const session = this.session(host, ids)
    if (session.main === undefined) {
      session.main = turn
      turn.sharedWith.add(session)
      this.#activate(session)
    }
    return turn
  }

  #findWithoutSession(host: string, ids: RecordIds, session: Session | undefined): Turn | undefined {
    if (ids.turnId !== undefined) {
      const named = this.#only(this.#byTurnId.get(joint(host, ids.turnId)))
      if (named !== undefined) return named
    }
    const searched = this.#search(host, ids)
    if (searched !== undefined) return searched
    if (ids.turnId !== undefined || ids.taskId !== undefined) return session?.main
    return this.onlyOpen(host) ?? session?.main
  }

  #search(host: string, ids: RecordIds): Turn | undefined {
    if (ids.toolCallId === undefined && ids.apiRequestId === undefined && ids.taskId === undefined) return undefined
    const found = new Set<Turn>()
    let looked = 0
    for (const turn of this.#open.get(host) ?? []) {
      if (++looked > SEARCH_LIMIT) return undefined
      const holds =
        (ids.toolCallId !== undefined && turn.open.has(`tool ${ids.toolCallId}`)) ||
        (ids.apiRequestId !== undefined && knowsRequest(turn, ids.apiRequestId)) ||
        (ids.taskId !== undefined && turn.taskId === ids.taskId)
      if (holds) found.add(turn)
    }
    return this.#only(found)
  }

  #only(turns: ReadonlySet<Turn> | undefined): Turn | undefined {
    return turns?.size === 1 ? turns.values().next().value : undefined
  }

  #sessionKey(host: string, ids: RecordIds): string {
    if (ids.sessionId !== undefined) return joint(host, 'session', ids.sessionId)
    if (ids.turnId !== undefined) return joint(host, 'turn', ids.turnId)
    return ids.taskId === undefined ? joint(host, 'none') : joint(host, 'task', ids.taskId)
  }

  #endedKey(session: Session, turnId: string): string {
    return joint(session.key, turnId)
  }

  #activate(session: Session): void {
    this.#idle.delete(session.key)
    this.#active.set(session.key, session)
  }

  #deactivate(session: Session): void {
    if (session.turns.size > 0 || session.main !== undefined) return
    if (this.#active.delete(session.key)) this.#idle.set(session.key, session)
  }

  #index(map: Map<string, Set<Turn>>, key: string, turn: Turn): void {
    const turns = map.get(key)
    if (turns === undefined) map.set(key, new Set([turn]))
    else turns.add(turn)
  }

  #unindex(map: Map<string, Set<Turn>>, key: string, turn: Turn): boolean {
    const turns = map.get(key)
    if (turns === undefined || !turns.delete(turn)) return false
    if (turns.size === 0) map.delete(key)
    return true
  }
}
