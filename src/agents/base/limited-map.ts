/** A Map that drops its oldest entry over a limit, so that it does not grow while an agent runs. */
export class LimitedMap<Key, Value> extends Map<Key, Value> {
  readonly #limit: number

  constructor(limit: number) {
    super()
    this.#limit = limit
  }

  override set(key: Key, value: Value): this {
    super.set(key, value)
    if (this.size > this.#limit) this.delete(this.keys().next().value as Key)
    return this
  }

  refresh(key: Key, value: Value): void {
    this.delete(key)
    this.set(key, value)
  }

  /** Returns the entry, which becomes the newest one, and creates it if there is none. */
  recall(key: Key, create: () => Value): Value {
    const value = this.get(key) ?? create()
    this.refresh(key, value)
    return value
  }
}

const SESSIONS_LIMIT = 1000

/**
 * A machine's state of each session. Over the limit, the least recently used session is dropped without ending its spans: the core
 * ends those still open, so no turn is lost.
 */
export class SessionStates<State> {
  readonly #states: LimitedMap<string, State>
  readonly #create: (id: string) => State
  #newest: { readonly id: string; readonly state: State } | undefined

  constructor(create: (id: string) => State, limit: number = SESSIONS_LIMIT) {
    this.#create = create
    this.#states = new LimitedMap(limit)
  }

  get(id: string): State {
    // Fast path: consecutive events usually belong to the same session.
    if (this.#newest?.id === id) return this.#newest.state
    const state = this.#states.recall(id, () => this.#create(id))
    this.#newest = { id, state }
    return state
  }

  find(id: string): State | undefined {
    return this.#states.get(id)
  }

  delete(id: string): void {
    if (this.#newest?.id === id) this.#newest = undefined
    this.#states.delete(id)
  }

  values(): State[] {
    return [...this.#states.values()]
  }
}
