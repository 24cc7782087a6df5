import type { HookContext, HookLogger } from './hook.ts'
import type { Phase } from './phases.ts'

/** The circumstances of one run of the hooks. */
export interface About extends Pick<HookContext, 'host' | 'sessionId' | 'turnId' | 'state' | 'logger'> {
  /** Returns the W3C traceparent. */
  readonly traceparent?: (() => string | undefined) | undefined
  /** The agent's signal, aborted if the agent stops. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The read-only context shared by all hooks of one run. A hook that timed out keeps this context; later hooks get a new one.
 */
export class ChainContext implements HookContext {
  readonly phase: Phase
  readonly host: string
  readonly sessionId: string | undefined
  readonly turnId: string | undefined
  readonly state: Record<string, unknown>
  readonly logger: HookLogger
  readonly #about: About
  #metadata: Readonly<Record<string, unknown>>
  #controller: AbortController | undefined
  #signal: AbortSignal | undefined

  constructor(phase: Phase, about: About, metadata: Readonly<Record<string, unknown>> = Object.freeze({})) {
    this.phase = phase
    this.host = about.host
    this.sessionId = about.sessionId
    this.turnId = about.turnId
    this.state = about.state
    this.logger = about.logger
    this.#about = about
    this.#metadata = metadata
    Object.freeze(this)
  }

  get metadata(): Readonly<Record<string, unknown>> {
    return this.#metadata
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const host = this.#about.signal
      const own = this.#own().signal
      this.#signal = host === undefined ? own : AbortSignal.any([host, own])
    }
    return this.#signal
  }

  get traceparent(): string | undefined {
    return this.#about.traceparent?.()
  }

  #own(): AbortController {
    this.#controller ??= new AbortController()
    return this.#controller
  }

  static addMetadata(context: ChainContext, metadata: Readonly<Record<string, unknown>>): void {
    context.#metadata = Object.freeze({ ...context.#metadata, ...metadata })
  }

  static replaceTimedOut(context: ChainContext): ChainContext {
    context.#own().abort(new DOMException('The time of the hook is over.', 'TimeoutError'))
    return new ChainContext(context.phase, context.#about, context.#metadata)
  }
}

/** A registered symbol, because the hookspan imported by a file may be another module instance than that of its thread. */
export const TURN: unique symbol = Symbol.for('hookspan.turn')
const ENTRIES_LIMIT = 1000

/** Values by key, made on first use. The least recently used is evicted: hooks and threads get no end of a turn or session. */
export class RecentValues<Key, Value> {
  readonly #values = new Map<Key, Value>()
  readonly #onEvict: ((value: Value) => void) | undefined

  constructor(onEvict?: (value: Value) => void) {
    this.#onEvict = onEvict
  }

  of(key: Key, make: () => Value): Value {
    const value = this.#values.get(key) ?? make()
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size > ENTRIES_LIMIT) {
      const [oldest] = this.#values.keys()
      const evicted = this.remove(oldest as Key) as Value
      this.#onEvict?.(evicted)
    }
    return value
  }

  remove(key: Key): Value | undefined {
    const value = this.#values.get(key)
    this.#values.delete(key)
    return value
  }
}

export class TurnState<Value> {
  readonly #turns = new WeakMap<object, Value>()
  readonly #make: () => Value

  constructor(make: () => Value) {
    this.#make = make
  }

  of(context: HookContext): Value {
    // In a thread `state` is a new copy in each call, so another object identifies the turn there.
    const turn = (context as HookContext & { readonly [TURN]?: object | undefined })[TURN] ?? context.state
    const known = this.#turns.get(turn) ?? this.#make()
    this.#turns.set(turn, known)
    return known
  }
}
