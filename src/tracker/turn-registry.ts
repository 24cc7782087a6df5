import { idOf, peek } from '../contract/foreign.ts'
import type { HookName } from '../contract/index.ts'
import { BoundedMap } from './bounded-map.ts'
import type { AnyDefinition } from './spans/hook-plan.ts'
import type { AnyHookEvent, AttributeOptions } from './spans/span-definition.ts'
import { TrackedSession, type TrackedTurn } from './turn.ts'

/** Limit of sessions without an open turn. A dropped one loses its numbering and its link to the previous turn. */
const IDLE_SESSIONS_LIMIT = 2000
/** Limit of finished turns whose late records still find their trace. */
const ENDED_TURNS_LIMIT = 500
/**
 * Limits of open turns that are searched for a record without a turn. Beyond `ROOTED_SEARCH_LIMIT`, finding the only real one is
 * not worth the search.
 */
const SEARCH_LIMIT = 1000
const ROOTED_SEARCH_LIMIT = 16

/** The host of a record, and its ids that can identify its turn; undefined if absent, blank or of another type. */
export interface RecordIds {
  readonly host: string
  readonly sessionId: string | undefined
  readonly turnId: string | undefined
  readonly taskId: string | undefined
  readonly apiRequestId: string | undefined
  readonly toolCallId: string | undefined
}

export interface ReceivedHook extends AnyHookEvent, RecordIds {
  readonly definition: AnyDefinition
  /** The host sent the time. Only then can two records be recognised as the same. */
  readonly isExplicit: boolean
  readonly deliveryId: unknown
}

/** Process that sent a record, and its sequence number there: `0123456789abcdef-0000000a` */
const NUMBERED_DELIVERY = /^([0-9a-f]{16})-[0-9a-f]{8}$/

export function senderOf({ deliveryId }: Pick<ReceivedHook, 'deliveryId'>): string | undefined {
  return typeof deliveryId === 'string' ? NUMBERED_DELIVERY.exec(deliveryId)?.[1] : undefined
}

export function startedAt({ isExplicit, at }: ReceivedHook): number {
  return isExplicit ? at : Number.POSITIVE_INFINITY
}

/** Delegation records describe the parent, so their ids are the parent's. */
export function idsOf(hook: HookName, payload: Readonly<Record<string, unknown>>, host: string): RecordIds {
  const isDelegation = hook === 'subagent_start' || hook === 'subagent_stop'
  return {
    host,
    sessionId: (isDelegation ? idOf(payload['parent_session_id']) : undefined) ?? idOf(payload['session_id']),
    turnId: (isDelegation ? idOf(payload['parent_turn_id']) : undefined) ?? idOf(payload['turn_id']),
    taskId: idOf(peek(payload, 'task_id')),
    apiRequestId: idOf(peek(payload, 'api_request_id')),
    toolCallId: idOf(peek(payload, 'tool_call_id')),
  }
}

interface SessionIndex {
  areReported: boolean
  readonly named: Map<string, TrackedSession>
  readonly unnamed: Map<string, TrackedSession>
}

function joint(one: string, other: string | undefined): string {
  return `${one}\u0000${other}`
}

function unnamedKey({ turnId, taskId }: RecordIds): string {
  if (turnId !== undefined) return `turn ${turnId}`
  return taskId === undefined ? 'none' : `task ${taskId}`
}

function sessionKey(host: string, { id, key }: Pick<TrackedSession, 'id' | 'key'>): string {
  return joint(joint(host, id === undefined ? 'unnamed' : 'session'), key)
}

function sessionKeyOf(ids: RecordIds): string {
  return sessionKey(ids.host, { id: ids.sessionId, key: ids.sessionId ?? unnamedKey(ids) })
}

function onlyRooted(turns: ReadonlySet<TrackedTurn> | undefined): TrackedTurn | undefined {
  if (turns === undefined || turns.size > ROOTED_SEARCH_LIMIT) return undefined
  let found: TrackedTurn | undefined
  for (const turn of turns) {
    if (turn.root === undefined || turn.isBackground) continue
    if (found !== undefined) return undefined
    found = turn
  }
  return found
}

function isNamedBy(turn: TrackedTurn, { toolCallId, apiRequestId, taskId }: RecordIds): boolean {
  const named =
    turn.openSpan('tool', toolCallId) ?? turn.openSpan('api', apiRequestId) ?? turn.endedSpan('api', apiRequestId)
  return named !== undefined || (taskId !== undefined && turn.taskId === taskId)
}

type TurnField = 'identity' | 'metadata' | 'agentName'

export interface EndedTurn
  extends Pick<TrackedTurn, TurnField | 'session' | 'turnId' | 'number' | 'delegation' | 'anchor' | 'history'> {
  readonly endAt: number
  /**
   * Time after which it can be dropped. `isSilent`: it was ended only because of its silence, and its host may continue it, so
   * that this is long after its end.
   */
  readonly closedAt: number
  readonly isSilent: boolean
}

/** Finds the turn of a record, from explicit ids only. */
export class TurnRegistry {
  readonly #sessions = new Map<string, SessionIndex>()
  readonly #idle = new BoundedMap<TrackedSession, true>(IDLE_SESSIONS_LIMIT, (_, session) => this.#drop(session))
  readonly #open = new Map<string, Set<TrackedTurn>>()
  readonly #byTurnId = new Map<string, Set<TrackedTurn>>()
  readonly #ended = new BoundedMap<string, EndedTurn>(ENDED_TURNS_LIMIT)
  readonly #lastEnded = new BoundedMap<string, string>(ENDED_TURNS_LIMIT)
  /** No finished turn ended before this time: most looks end here. */
  #endedUntil = Number.POSITIVE_INFINITY
  readonly #attributeOptions: AttributeOptions
  #openCount = 0

  constructor(attributeOptions: AttributeOptions) {
    this.#attributeOptions = attributeOptions
  }

  get openCount(): number {
    return this.#openCount
  }

  /** A session by its id. Records without a session id share one session by turn or task id. */
  session(ids: RecordIds): TrackedSession {
    const known = this.knownSession(ids)
    if (known !== undefined) return known
    const key = ids.sessionId ?? unnamedKey(ids)
    const session = new TrackedSession(key, ids.host, ids.sessionId)
    const { named, unnamed } = this.#sessionsOf(ids.host)
    ;(ids.sessionId === undefined ? unnamed : named).set(key, session)
    this.#idle.set(session, true)
    return session
  }

  knownSession(ids: RecordIds): TrackedSession | undefined {
    const sessions = this.#sessions.get(ids.host)
    if (ids.sessionId !== undefined) return sessions?.named.get(ids.sessionId)
    return sessions?.unnamed.get(unnamedKey(ids))
  }

  /** The host has fired a hook about a session, so it will report the end of its turns. */
  noteSessionHook(host: string): void {
    this.#sessionsOf(host).areReported = true
  }

  areSessionsReported(host: string): boolean {
    return this.#sessions.get(host)?.areReported === true
  }

  /** Drops a session whose identity is torn down. If the id is used again, it is a new session. */
  forgetSession(session: TrackedSession): void {
    session.forgotten = true
    this.#idle.delete(session)
    this.#drop(session)
  }

  find(ids: RecordIds): TrackedTurn | undefined {
    const session = this.knownSession(ids)
    if (ids.sessionId === undefined) return this.#findWithoutSession(ids, session)
    if (session === undefined) return undefined
    const { turnId } = ids
    if (turnId === undefined) return session.main ?? onlyRooted(session.turns)
    for (const turn of session.turns) if (turn.turnId === turnId) return turn
    return undefined
  }

  /**
   * The open turn that a record belongs to. If the record is the first with the turn's id, or has another session id,
   * the turn is indexed under these from then on.
   *
   * @param begins the record begins a turn itself, so it never joins a turn of another session
   */
  findOrIndex(ids: RecordIds, begins: boolean): TrackedTurn | undefined {
    const found = this.find(ids)
    const { sessionId, turnId } = ids
    if (found !== undefined || sessionId === undefined || turnId === undefined) return found
    const ended = this.#ended.get(joint(sessionKeyOf(ids), turnId))
    // A late record means the ended turn of its own session, even if a turn of another session has the same id.
    if (ended !== undefined) return begins ? undefined : this.#lateTurnOf(ended, ids.host, turnId)
    const main = this.knownSession(ids)?.main
    if (main !== undefined && main.turnId === undefined) {
      main.identify(turnId, this.#attributeOptions)
      this.#index(this.#byTurnId, joint(main.host, turnId), main)
      return main
    }
    return begins ? undefined : this.#shareRotated(ids)
  }

  /** The ended turn of a late record: named by its id, or the session's last by time, even of a dropped session. */
  findEnded(ids: RecordIds, at: number, begins: boolean): EndedTurn | undefined {
    const { sessionId, turnId } = ids
    if (sessionId === undefined && turnId !== undefined) return this.#endedNamed(ids.host, turnId)
    const session = sessionKeyOf(ids)
    const key = turnId === undefined ? this.#lastEnded.get(session) : joint(session, turnId)
    const ended = key === undefined ? undefined : this.#ended.get(key)
    if (ended === undefined) return undefined
    return (turnId !== undefined && (!begins || ended.isSilent)) || at <= ended.endAt ? ended : undefined
  }

  addTurn(turn: TrackedTurn): void {
    const { session, host } = turn
    session.addTurn(turn)
    this.#idle.delete(session)
    this.#index(this.#open, host, turn)
    this.#openCount += 1
    if (turn.turnId !== undefined) this.#index(this.#byTurnId, joint(host, turn.turnId), turn)
  }

  removeTurn(turn: TrackedTurn): void {
    for (const session of turn.sessions) {
      session.removeTurn(turn)
      if (session.isIdle && !session.forgotten) this.#idle.set(session, true)
    }
    if (this.#unindex(this.#open, turn.host, turn)) this.#openCount -= 1
    if (turn.turnId !== undefined) this.#unindex(this.#byTurnId, joint(turn.host, turn.turnId), turn)
  }

  /** Remembers an ended turn for all its sessions. Background work never receives records that name no turn. */
  rememberEnded(turn: TrackedTurn, how: Pick<EndedTurn, 'anchor' | 'endAt' | 'closedAt' | 'isSilent'>): void {
    const { session, turnId, identity, metadata, agentName, number, delegation, history } = turn
    const ended: EndedTurn = { session, turnId, identity, metadata, agentName, number, delegation, history, ...how }
    for (const holder of turn.sessions) {
      const holderKey = sessionKey(holder.host, holder)
      const key = joint(holderKey, turnId ?? `#${number}`)
      this.#ended.set(key, ended)
      if (!turn.isBackground) this.#lastEnded.set(holderKey, key)
    }
    this.#endedUntil = Math.min(this.#endedUntil, ended.closedAt)
  }

  /** A late turn is remembered as its ended turn is, also under the sessions that it was rotated into since. */
  rememberLate({ session, turnId, number, sharedWith }: TrackedTurn): void {
    const name = turnId ?? `#${number}`
    const ended = this.#ended.get(joint(sessionKey(session.host, session), name))
    if (ended === undefined) return
    for (const holder of sharedWith) this.#ended.set(joint(sessionKey(holder.host, holder), name), ended)
  }

  /** An approval may name its turn and no session. */
  #endedNamed(host: string, turnId: string): EndedTurn | undefined {
    const all = [...this.#ended.values()].filter(ended => ended.turnId === turnId && ended.session.host === host)
    const [named, ...others] = new Set(all)
    return others.length === 0 ? named : undefined
  }

  /** Late records are awaited for as long as silent turns are. */
  forgetEndedBefore(at: number): void {
    if (at <= this.#endedUntil) return
    this.#endedUntil = Number.POSITIVE_INFINITY
    for (const [key, { closedAt }] of this.#ended) {
      if (closedAt < at) this.#ended.delete(key)
      else this.#endedUntil = Math.min(this.#endedUntil, closedAt)
    }
  }

  *openTurns(): Generator<TrackedTurn> {
    for (const turns of this.#open.values()) yield* turns
  }

  onlyOpen(host: string): TrackedTurn | undefined {
    return onlyRooted(this.#open.get(host))
  }

  #sessionsOf(host: string): SessionIndex {
    let sessions = this.#sessions.get(host)
    if (sessions === undefined) {
      sessions = { areReported: false, named: new Map(), unnamed: new Map() }
      this.#sessions.set(host, sessions)
    }
    return sessions
  }

  /** The session id changed during the turn: the new session shares the turn from here on. */
  #shareRotated(ids: RecordIds): TrackedTurn | undefined {
    const turn = this.#only(this.#byTurnId.get(joint(ids.host, ids.turnId)))
    if (turn === undefined) return undefined
    const session = this.session(ids)
    if (session.main === undefined) {
      session.shareTurn(turn)
      this.#idle.delete(session)
    }
    return turn
  }

  #lateTurnOf({ history }: EndedTurn, host: string, turnId: string): TrackedTurn | undefined {
    for (const turn of this.#byTurnId.get(joint(host, turnId)) ?? []) if (turn.history === history) return turn
    return undefined
  }

  #findWithoutSession(ids: RecordIds, session: TrackedSession | undefined): TrackedTurn | undefined {
    if (ids.turnId !== undefined) {
      const named = this.#only(this.#byTurnId.get(joint(ids.host, ids.turnId)))
      if (named !== undefined) return named
    }
    const searched = this.#search(ids)
    if (searched !== undefined) return searched
    if (ids.turnId !== undefined || ids.taskId !== undefined) return session?.main
    return this.onlyOpen(ids.host) ?? session?.main
  }

  #search(ids: RecordIds): TrackedTurn | undefined {
    if (ids.toolCallId === undefined && ids.apiRequestId === undefined && ids.taskId === undefined) return undefined
    const found = new Set<TrackedTurn>()
    let looked = 0
    for (const turn of this.#open.get(ids.host) ?? []) {
      if (++looked > SEARCH_LIMIT) return undefined
      if (isNamedBy(turn, ids)) found.add(turn)
    }
    return this.#only(found)
  }

  #only(turns: ReadonlySet<TrackedTurn> | undefined): TrackedTurn | undefined {
    return turns?.size === 1 ? turns.values().next().value : undefined
  }

  #drop(session: TrackedSession): void {
    const sessions = this.#sessions.get(session.host)
    const map = session.id === undefined ? sessions?.unnamed : sessions?.named
    if (map?.get(session.key) === session) map.delete(session.key)
  }

  #index(map: Map<string, Set<TrackedTurn>>, key: string, turn: TrackedTurn): void {
    const turns = map.get(key)
    if (turns === undefined) map.set(key, new Set([turn]))
    else turns.add(turn)
  }

  #unindex(map: Map<string, Set<TrackedTurn>>, key: string, turn: TrackedTurn): boolean {
    const turns = map.get(key)
    if (turns === undefined || !turns.delete(turn)) return false
    if (turns.size === 0) map.delete(key)
    return true
  }
}
