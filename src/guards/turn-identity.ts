import type { HookContext } from './hook.ts'

/** A registered symbol, because the hookspan imported by a file may be another module instance than that of its thread. */
const TURN: unique symbol = Symbol.for('hookspan.turn')
const TURNS_LIMIT = 1000

type ContextInThread = HookContext & { readonly [TURN]?: object | undefined }

/** The identity of a turn. In a thread `state` is a new copy in each call, so another object identifies the turn there. */
export function turnOf(context: HookContext): object {
  return (context as ContextInThread)[TURN] ?? context.state
}

/** Identities of turns in a thread, by number. A thread receives no turn end, so the least recently used one is evicted. */
export class TurnIdentities {
  readonly #turns = new Map<number, object>()

  /** Returns the property to add to the context of a call. */
  of(turn: number): object {
    const identity = this.#turns.get(turn) ?? {}
    this.#turns.delete(turn)
    this.#turns.set(turn, identity)
    if (this.#turns.size > TURNS_LIMIT)
      for (const oldest of this.#turns.keys()) {
        this.#turns.delete(oldest)
        break
      }
    return { [TURN]: identity }
  }
}

/** Numbers turns for a thread, which only receives copies of their state. */
export class TurnNumbers {
  readonly #numbers = new WeakMap<object, number>()
  #last = 0

  of(context: HookContext): number {
    const turn = turnOf(context)
    const number = this.#numbers.get(turn) ?? ++this.#last
    this.#numbers.set(turn, number)
    return number
  }
}
