import type { HookContext, HookLogger } from './hook.ts'
import type { Phase } from './phases.ts'

const NO_METADATA: Readonly<Record<string, unknown>> = Object.freeze({})

/** What a run of the hooks is about. */
export interface About {
  /** The agent. */
  readonly host: string
  /** The agent's id of it. */
  readonly sessionId: string | undefined
  /** The agent's id of it. */
  readonly turnId: string | undefined
  /** The same object for all hooks of a turn. */
  readonly state: Record<string, unknown>
  /** Takes lines for the person. */
  readonly logger: HookLogger
  /** W3C. */
  readonly traceparent?: (() => string | undefined) | undefined
  /** Of the agent, which may stop what it does. */
  readonly signal?: AbortSignal | undefined
}

/** What all hooks of one run are handed, and none of them can change. Who is given up keeps it; those behind get another. */
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

  /** For the hooks behind. */
  static handOn(context: Context, metadata: Readonly<Record<string, unknown>>): void {
    context.#metadata = Object.freeze({ ...context.#metadata, ...metadata })
  }

  /** The hook that has this is told that nobody waits for it. @returns what those behind are handed */
  static giveUp(context: Context): Context {
    context.#own().abort(new DOMException('The time of the hook is over.', 'TimeoutError'))
    return new Context(context.phase, context.#about, context.#metadata)
  }
}
