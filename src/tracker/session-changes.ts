import type { Capture } from '../content/capture.ts'
import { idOf } from '../contract/foreign.ts'
import type { FinalStatus, HookResult, SessionReset } from '../contract/index.ts'
import { BoundedMap } from './bounded-map.ts'
import { idsOf, type ReceivedHook, type RecordIds } from './received-hook.ts'
import type { TrackedSession } from './turn.ts'
import type { TurnLifecycle } from './turn-lifecycle.ts'
import type { TurnRegistry } from './turn-registry.ts'

/** Torn-down sessions whose successor may still be reported. */
const FINALIZED_LIMIT = 1000

type Predecessor = NonNullable<TrackedSession['previous']>

export class SessionChanges {
  readonly #capture: Capture
  readonly #registry: TurnRegistry
  readonly #lifecycle: TurnLifecycle
  readonly #finalized = new BoundedMap<string, Predecessor>(FINALIZED_LIMIT)
  /** Last torn-down session by host. A reset that names only the new session replaces it. */
  readonly #lastFinalized = new BoundedMap<string, Predecessor>(FINALIZED_LIMIT)

  constructor(capture: Capture, registry: TurnRegistry, lifecycle: TurnLifecycle) {
    this.#capture = capture
    this.#registry = registry
    this.#lifecycle = lifecycle
  }

  finalize(incoming: ReceivedHook): HookResult {
    const session = this.#sessionOf(incoming)
    if (session === undefined) return 'ignored'
    this.#tearDown(session, incoming, 'finalized')
    return 'ok'
  }

  /** Links the first turn of the new session to the old session's last root. */
  reset(incoming: ReceivedHook): HookResult {
    const { event, host } = incoming
    const payload = event.payload as SessionReset
    const newId = idOf(payload.new_session_id) ?? idOf(payload.session_id)
    const reported =
      idOf(payload.old_session_id) ?? (newId === idOf(payload.session_id) ? undefined : idOf(payload.session_id))
    const old = reported === undefined ? undefined : this.#registry.knownSession(host, named(reported))
    if (old !== undefined) this.#tearDown(old, incoming, 'reset')
    const predecessor =
      reported === undefined
        ? this.#lastFinalized.get(host)
        : (this.#finalized.get(`${host}\u0000${reported}`) ?? this.#unknown(reported))
    if (newId === undefined || predecessor === undefined || newId === reported)
      return old === undefined ? 'ignored' : 'ok'
    this.#registry.session(host, named(newId)).previous = predecessor
    return 'ok'
  }

  #tearDown(session: TrackedSession, { event }: ReceivedHook, finalStatus: FinalStatus): void {
    // Includes a turn whose own session id was rotated into this one.
    for (const turn of new Set([...session.turns, ...(session.main === undefined ? [] : [session.main])]))
      this.#lifecycle.endTurn(turn, { at: event.at, finalStatus, descendants: 'turn_ended' })
    const predecessor: Predecessor = { id: this.#capture.id(session.id), root: session.lastRoot }
    if (session.id !== undefined) this.#finalized.set(`${session.host}\u0000${session.id}`, predecessor)
    this.#lastFinalized.set(session.host, predecessor)
    this.#registry.forgetSession(session)
  }

  #sessionOf({ ids, host }: ReceivedHook): TrackedSession | undefined {
    return ids.sessionId === undefined ? this.#registry.onlyOpen(host)?.session : this.#registry.knownSession(host, ids)
  }

  #unknown(id: string): Predecessor {
    return { id: this.#capture.id(id), root: undefined }
  }
}

function named(session_id: string): RecordIds {
  return idsOf('on_session_reset', { session_id })
}
