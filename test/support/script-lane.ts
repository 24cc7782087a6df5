import type { SessionScript } from './agent-script.ts'
import type { ExpectedSpan } from './expected-span.ts'
import type { FedRecord } from './feed.ts'

/** One record of one session, as its host fires it. */
export interface Step {
  readonly record: FedRecord
  /** When it is fired, by the clock of its lane; its host may say nothing of it. */
  readonly at: number
  /** A record of another session that this one can only follow: a child starts after its delegation. */
  readonly after: Step | undefined
  /** Nothing comes between the one before it and this one. */
  readonly glued: boolean
  /** Without an id of its own, of its turn or a time, only a delivery id can tell a repeat from another call. */
  readonly isAnonymous: boolean
}

/** What was fed, to compare the counters with. */
export interface Fed {
  turns: number
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  reasoning: number
  apiErrors: number
  toolCalls: number
  subagents: number
  approvals: number
  hookRuns: number
}

/** What has no counter. */
export interface Beside {
  /** Requests that have no span, because neither a start nor a duration was told. */
  undrawn: number
  /** Roots that need not be over when the records are: nothing but time ends them. */
  background: number
}

export const NOTHING_FED: Fed = {
  turns: 0,
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  apiErrors: 0,
  toolCalls: 0,
  subagents: 0,
  approvals: 0,
  hookRuns: 0,
}

/** What is told while a script is walked. */
export interface Telling {
  readonly lanes: Step[][]
  readonly traces: ExpectedSpan[]
  readonly fed: Fed
  readonly beside: Beside
}

export interface LaneHost {
  readonly namesTurns: boolean
  readonly clock: SessionScript['clock']
  readonly pace: number
}

/** The records of one session, with a clock of its own. */
export class Lane {
  readonly name: string
  /** Changes in the middle of a turn. */
  sessionId: string
  at: number
  children = 0
  readonly #steps: Step[] = []
  readonly #host: LaneHost
  /** What its first record follows. */
  readonly #start: Step | undefined
  #rotations = 0

  constructor(telling: Telling, name: string, at: number, host: LaneHost, start?: Step) {
    this.name = name
    this.sessionId = name
    this.at = at
    this.#host = host
    this.#start = start
    telling.lanes.push(this.#steps)
  }

  get namesTurns(): boolean {
    return this.#host.namesTurns
  }

  /** Where it does, attempts can be told by their numbers only. */
  get standsStill(): boolean {
    return this.#host.clock === 'stands still'
  }

  get last(): Step | undefined {
    return this.#steps.at(-1)
  }

  emit(hook: string, payload: object, how: Partial<Omit<Step, 'record'>> = {}): Step {
    const after = how.after ?? (this.#steps.length === 0 ? this.#start : undefined)
    const { namesTurns, clock, pace } = this.#host
    const passed = this.standsStill ? 0 : 1 + ((this.#steps.length * pace) % 300)
    this.at = Math.max(this.at, after?.at ?? 0) + passed
    const record = { hook, ...(clock === 'none' ? {} : { at: this.at }), payload }
    const isAnonymous = how.isAnonymous === true || !namesTurns || clock === 'none'
    const step: Step = { record, at: this.at, after, glued: how.glued ?? false, isAnonymous }
    this.#steps.push(step)
    return step
  }

  rotate(): void {
    this.#rotations += 1
    this.sessionId = `${this.name}~${this.#rotations}`
  }
}
