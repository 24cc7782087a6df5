import type { HookContext } from './hook.ts'

/** By its name: what a file imports of hookspan need not be the module that its thread runs. */
const TURN: unique symbol = Symbol.for('hookspan.turn')
const TURNS_LIMIT = 1000

type ContextInThread = HookContext & { readonly [TURN]?: object | undefined }

/** The same object in all calls of a turn. In a thread `state` is a new copy in each of them, and something else stands for the turn. */
export function turnOf(context: HookContext): object {
  return (context as ContextInThread)[TURN] ?? context.state
}

/** What stands for turns in a thread, by their numbers. Nobody says there when one is over: the one silent longest is forgotten. */
export class TurnIdentities {
  readonly #turns = new Map<number, object>()

  /** What is to be added to the context of a call. */
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

/** Numbers turns, for a thread that is sent copies of them. */
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
