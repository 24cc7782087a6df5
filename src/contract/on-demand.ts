/** A promise whose work begins when it is awaited: `await`, `Promise.all` and `finally` all call `then`. */
export class OnDemand<Value> extends Promise<Value> {
  readonly #begin: () => Promise<Value>
  #begun: Promise<Value> | undefined

  /** Derived promises are ordinary promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  constructor(begin: () => Promise<Value>) {
    super(() => undefined)
    this.#begin = begin
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise.
  override then<Fulfilled = Value, Rejected = never>(
    onFulfilled?: ((value: Value) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.#begun ??= this.#begin()
    return this.#begun.then(onFulfilled, onRejected)
  }
}
