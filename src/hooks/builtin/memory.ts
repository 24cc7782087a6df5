import type { HookContext } from '../hook.ts'
import { turnOf } from '../turn-identity.ts'

const SESSIONS_LIMIT = 1000

/** What a hook remembers of a turn: made with it, gone with it. */
export class TurnMemory<Value> {
  readonly #turns = new WeakMap<object, Value>()
  readonly #make: () => Value

  constructor(make: () => Value) {
    this.#make = make
  }

  of(context: HookContext): Value {
    const turn = turnOf(context)
    const known = this.#turns.get(turn) ?? this.#make()
    this.#turns.set(turn, known)
    return known
  }
}

/** What a hook remembers of a session. Nobody says when one is over: of many the one that was silent longest is forgotten. */
export class SessionMemory<Value> {
  readonly #sessions = new Map<string, Value>()
  readonly #make: () => Value

  constructor(make: () => Value) {
    this.#make = make
  }

  of({ sessionId = '' }: HookContext): Value {
    const known = this.#sessions.get(sessionId) ?? this.#make()
    this.#sessions.delete(sessionId)
    this.#sessions.set(sessionId, known)
    if (this.#sessions.size > SESSIONS_LIMIT)
      for (const oldest of this.#sessions.keys()) {
        this.#sessions.delete(oldest)
        break
      }
    return known
  }
}
