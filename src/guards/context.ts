import type { HookContext, HookLogger } from './hook.ts'
import type { Phase } from './phases.ts'

const NO_METADATA: Readonly<Record<string, unknown>> = Object.freeze({})

/** The circumstances of one run of the hooks. */
export interface About {
  /** The agent's name, for example `pi`. */
  readonly host: string
  /** The agent's own session id. */
  readonly sessionId: string | undefined
  /** The agent's own turn id. */
  readonly turnId: string | undefined
  /** The same object for all hooks of a turn. */
  readonly state: Record<string, unknown>
  /** Receives lines for the user. */
  readonly logger: HookLogger
  /** Returns the W3C traceparent. */
  readonly traceparent?: (() => string | undefined) | undefined
  /** The agent's signal, aborted if the agent stops. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The read-only context shared by all hooks of one run. A hook that timed out keeps this context; later hooks get a new one.
 */
export class Context implements HookContext {
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

  constructor(phase: Phase, about: About, metadata: Readonly<Record<string, unknown>> = NO_METADATA) {
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

  /** Adds metadata for later hooks. */
  static handOn(context: Context, metadata: Readonly<Record<string, unknown>>): void {
    context.#metadata = Object.freeze({ ...context.#metadata, ...metadata })
  }

  /** Aborts the signal of a hook that timed out. @returns a new context for later hooks */
  static giveUp(context: Context): Context {
    context.#own().abort(new DOMException('The time of the hook is over.', 'TimeoutError'))
    return new Context(context.phase, context.#about, context.#metadata)
  }
}
