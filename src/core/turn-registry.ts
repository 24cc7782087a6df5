import { BoundedMap } from './bounded-map.ts'
import type { RecordIds } from './record-ids.ts'
import { type EndedTurn, newSession, type Session, type Turn } from './turn.ts'

/** Sessions without an open turn: forgetting one costs its numbering and its link to the previous turn. */
const IDLE_SESSIONS_LIMIT = 2000
/** Finished turns whose late records still find their trace. */
const ENDED_TURNS_LIMIT = 500
/** Records that name no turn are looked for among at most so many open ones. */
const SEARCH_LIMIT = 1000
/** With more turns than this at once, one of them being the only real one is not worth the search. */
const ROOTED_SEARCH_LIMIT = 16

/** Sessions of one host: by their id, and those that only a turn or a task names. */
interface HostSessions {
  readonly named: Map<string, Session>
  readonly unnamed: Map<string, Session>
}

function joint(one: string, other: string | undefined): string {
  return `${one}\u0000${other}`
}

/** A host that names no session may still name a turn or a task. */
function unnamedKey({ turnId, taskId }: RecordIds): string {
  if (turnId !== undefined) return `turn ${turnId}`
  return taskId === undefined ? 'none' : `task ${taskId}`
}

/** The only turn, when there is but one: background work and spans that stand alone are no turn to join. */
function onlyRooted(turns: ReadonlySet<Turn> | undefined): Turn | undefined {
  if (turns === undefined || turns.size > ROOTED_SEARCH_LIMIT) return undefined
  let found: Turn | undefined
  for (const turn of turns) {
    if (turn.root === undefined || turn.isBackground) continue
    if (found !== undefined) return undefined
    found = turn
  }
  return found
}

function knowsRequest(turn: Turn, apiRequestId: string): boolean {
  return turn.open.has(`api ${apiRequestId}`) || turn.ended.has(`api ${apiRequestId}`)
}

/** Which turn a record belongs to, from explicit ids only. */
export class TurnRegistry {
  readonly #sessions = new Map<string, HostSessions>()
  readonly #idle = new BoundedMap<Session, true>(IDLE_SESSIONS_LIMIT, (_, session) => this.#drop(session))
  readonly #open = new Map<string, Set<Turn>>()
  readonly #byTurnId = new Map<string, Set<Turn>>()
  readonly #ended = new BoundedMap<string, EndedTurn>(ENDED_TURNS_LIMIT)
  /** No finished turn ended before: most looks end here. */
  #endedUntil = Number.POSITIVE_INFINITY
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
    const known = this.knownSession(host, ids)
    if (known !== undefined) return known
    const key = ids.sessionId ?? unnamedKey(ids)
    const session = newSession(key, host, ids.sessionId)
    let sessions = this.#sessions.get(host)
    if (sessions === undefined) {
      sessions = { named: new Map(), unnamed: new Map() }
      this.#sessions.set(host, sessions)
    }
    ;(ids.sessionId === undefined ? sessions.unnamed : sessions.named).set(key, session)
    this.#idle.set(session, true)
    return session
  }

  knownSession(host: string, ids: RecordIds): Session | undefined {
    const sessions = this.#sessions.get(host)
    if (ids.sessionId !== undefined) return sessions?.named.get(ids.sessionId)
    return sessions?.unnamed.get(unnamedKey(ids))
  }

  /** Forgets a session whose identity is torn down: should the id come again, it is a new one. */
  forget(session: Session): void {
    session.forgotten = true
    this.#idle.delete(session)
    this.#drop(session)
  }

  /**
   * The open turn that a record belongs to.
   * @param begins the record begins a turn itself, so a turn of another session is none of its business
   */
  find(host: string, ids: RecordIds, begins: boolean): Turn | undefined {
    const session = this.knownSession(host, ids)
    if (ids.sessionId === undefined) return this.#findWithoutSession(host, ids, session)
    const own = session && this.#findInSession(session, ids, true)
    if (own !== undefined || ids.turnId === undefined || begins) return own
    // A turn of its own that is over is what a late record means, however another session names its turns.
    const ended = session && this.#ended.get(this.#endedKey(session, ids.turnId))
    if (ended !== undefined) return this.#lateTurnOf(ended, host, ids.turnId)
    return this.#findRotated(host, ids)
  }

  /** The open turn that ids name, for somebody who only asks. */
  look(host: string, ids: RecordIds): Turn | undefined {
    const session = this.knownSession(host, ids)
    if (ids.sessionId === undefined) return this.#findWithoutSession(host, ids, session)
    return session && this.#findInSession(session, ids, false)
  }

  /** The finished turn that a late record belongs to: named by its id, or the session's last one by time. */
  findEnded(host: string, ids: RecordIds, at: number, begins: boolean): EndedTurn | undefined {
    if (ids.sessionId === undefined && ids.turnId !== undefined) return this.#endedNamed(host, ids.turnId)
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

  /**
   * @param holders the sessions whose late records may name it: its own, and those that it rotated into
   * @param isBackground records that name no turn are none of its business
   */
  retain(ended: EndedTurn, holders: Iterable<Session>, isBackground: boolean): void {
    for (const session of holders) {
      const key = this.#endedKey(session, ended.turnId ?? `#${ended.number}`)
      this.#ended.set(key, ended)
      if (!isBackground) session.lastEndedKey = key
    }
    this.#endedUntil = Math.min(this.#endedUntil, ended.closedAt)
  }

  /** An approval may name its turn and no session. */
  #endedNamed(host: string, turnId: string): EndedTurn | undefined {
    const all = [...this.#ended.values()].filter(ended => ended.turnId === turnId && ended.session.host === host)
    const [named, ...others] = new Set(all)
    return others.length === 0 ? named : undefined
  }

  /** Late records are waited for as long as silent turns are. */
  forgetEndedBefore(at: number): void {
    if (at <= this.#endedUntil) return
    this.#endedUntil = Number.POSITIVE_INFINITY
    for (const ended of this.#ended.takeWhile(ended => ended.closedAt < at)) {
      if (ended.session.lastEndedKey !== undefined && !this.#ended.has(ended.session.lastEndedKey)) {
        ended.session.lastEndedKey = undefined
      }
    }
    const oldest = this.#ended.values().next().value
    if (oldest !== undefined) this.#endedUntil = oldest.closedAt
  }

  *openTurns(): Generator<Turn> {
    for (const turns of this.#open.values()) yield* turns
  }

  /** The only open turn of a host: what a record without any id may join. */
  onlyOpen(host: string): Turn | undefined {
    return onlyRooted(this.#open.get(host))
  }

  #findInSession(session: Session, { turnId }: RecordIds, mayAdopt: boolean): Turn | undefined {
    if (turnId === undefined) return session.main ?? onlyRooted(session.turns)
    for (const turn of session.turns) if (turn.turnId === turnId) return turn
    const { main } = session
    if (!mayAdopt || main === undefined || main.turnId !== undefined) return undefined
    // A late record of the turn before must not give this one its id.
    if (this.#ended.has(this.#endedKey(session, turnId))) return undefined
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
      session.prompted ||= turn.session.prompted
      turn.sharedWith = [...turn.sharedWith, session]
      this.#activate(session)
    }
    return turn
  }

  #lateTurnOf({ memory }: EndedTurn, host: string, turnId: string): Turn | undefined {
    for (const turn of this.#byTurnId.get(joint(host, turnId)) ?? []) if (turn.ended === memory.ended) return turn
    return undefined
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

  #endedKey(session: Session, turnId: string): string {
    const kind = session.id === undefined ? 'unnamed' : 'session'
    return joint(joint(joint(session.host, kind), session.key), turnId)
  }

  #drop(session: Session): void {
    const sessions = this.#sessions.get(session.host)
    const map = session.id === undefined ? sessions?.unnamed : sessions?.named
    if (map?.get(session.key) === session) map.delete(session.key)
  }

  #activate(session: Session): void {
    this.#idle.delete(session)
  }

  #deactivate(session: Session): void {
    if (session.turns.size > 0 || session.main !== undefined) return
    if (!session.forgotten) this.#idle.set(session, true)
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
