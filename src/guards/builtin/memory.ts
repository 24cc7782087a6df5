import type { HookContext } from '../hook.ts'
import { turnOf } from '../turn-identity.ts'

const SESSIONS_LIMIT = 1000

/** State of a hook by turn, discarded with the turn. */
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

/** State of a hook by session. Hooks receive no session end, so the least recently used session is evicted. */
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
