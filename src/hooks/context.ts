import type { HookContext, HookLogger } from './hook.ts'
import type { Phase } from './phases.ts'

const NO_METADATA: Readonly<Record<string, unknown>> = Object.freeze({})

/** What a run of the hooks is about. */
export interface About {
  readonly host: string
  readonly sessionId: string | undefined
  readonly turnId: string | undefined
  readonly state: Record<string, unknown>
  readonly logger: HookLogger
  readonly traceparent?: (() => string | undefined) | undefined
  /** Of the agent, which may stop what it does. */
  readonly signal?: AbortSignal | undefined
}

/** What all hooks of one run are handed; each but the last to be given up has a signal of its own. */
export class Context implements HookContext {
  readonly phase: Phase
  readonly host: string
  readonly sessionId: string | undefined
  readonly turnId: string | undefined
  readonly state: Record<string, unknown>
  readonly logger: HookLogger
  metadata: Readonly<Record<string, unknown>> = NO_METADATA
  readonly #about: About
  #controller: AbortController | undefined

  constructor(phase: Phase, about: About) {
    this.phase = phase
    this.host = about.host
    this.sessionId = about.sessionId
    this.turnId = about.turnId
    this.state = about.state
    this.logger = about.logger
    this.#about = about
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    const host = this.#about.signal
    return host === undefined ? this.#controller.signal : AbortSignal.any([host, this.#controller.signal])
  }

  get traceparent(): string | undefined {
    return this.#about.traceparent?.()
  }

  /** The hook that has this signal is given up; the next one gets another. */
  giveUp(): void {
    this.#controller?.abort(new DOMException('The time of the hook is over.', 'TimeoutError'))
    this.#controller = undefined
  }
}
