type Message = Readonly<Record<string, unknown>>

export interface FakeParameters {
  readonly prompt: unknown
  readonly options?: Readonly<Record<string, unknown>>
}

/**
 * Built as the SDK's is: private fields, and a loop over it goes over an object of its own. It says the messages it was
 * given, then ends, or throws.
 */
export class FakeQuery implements AsyncGenerator<Message, void> {
  readonly parameters: FakeParameters
  readonly #messages: AsyncGenerator<Message, void>
  #model = 'first'
  closed = 0

  constructor(parameters: FakeParameters, messages: readonly Message[], error?: unknown) {
    this.parameters = parameters
    this.#messages = (async function* () {
      yield* messages
      if (error !== undefined) throw error
    })()
  }

  next(...value: [] | [unknown]): Promise<IteratorResult<Message, void>> {
    return this.#messages.next(...value)
  }

  return(): Promise<IteratorResult<Message, void>> {
    return this.#messages.return()
  }

  throw(error: unknown): Promise<IteratorResult<Message, void>> {
    return this.#messages.throw(error)
  }

  [Symbol.asyncIterator](): AsyncGenerator<Message, void> {
    return this.#messages
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  async setModel(model: string): Promise<string> {
    this.#model = model
    return this.#model
  }

  interrupt(): Promise<string> {
    return Promise.resolve(`interrupted ${this.#model}`)
  }

  close(): void {
    this.closed += 1
  }
}
