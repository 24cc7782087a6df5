/** A host that runs for weeks must not make us remember every conversation. */
const SESSIONS_LIMIT = 1000

/** What a machine knows of each session. The one that was silent for longest is forgotten when there are too many. */
export class SessionStates<State> {
  readonly #states = new Map<string, State>()
  readonly #create: (id: string) => State
  readonly #limit: number
  #newest: { readonly id: string; readonly state: State } | undefined

  constructor(create: (id: string) => State, limit: number = SESSIONS_LIMIT) {
    this.#create = create
    this.#limit = limit
  }

  get size(): number {
    return this.#states.size
  }

  /** The state of this session; a new one for a session that was not heard of before. */
  get(id: string): State {
    // Event after event is of the same session.
    if (this.#newest?.id === id) return this.#newest.state
    const state = this.#states.get(id) ?? this.#create(id)
    this.#newest = { id, state }
    this.#states.delete(id)
    this.#states.set(id, state)
    if (this.#states.size > this.#limit) this.#forgetOldest()
    return state
  }

  look(id: string): State | undefined {
    return this.#states.get(id)
  }

  delete(id: string): void {
    if (this.#newest?.id === id) this.#newest = undefined
    this.#states.delete(id)
  }

  values(): State[] {
    return [...this.#states.values()]
  }

  /** Its open spans are the core's to end: nothing of a turn is lost with the state. */
  #forgetOldest(): void {
    for (const id of this.#states.keys()) {
      this.#states.delete(id)
      return
    }
  }
}
