import type { ExpectedSpan } from './expected-span.ts'
import type { FedRecord } from './feed.ts'

/** One record of one session, as its host fires it. */
export interface Step {
  readonly record: FedRecord & { readonly at: number }
  /** A record of another session that this one can only follow: a child starts after its delegation. */
  readonly after: Step | undefined
  /** Nothing comes between the one before it and this one. */
  readonly glued: boolean
  /** Without an id of its own only a delivery id can tell a repeat from a second call. */
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
}

/** What is told while a script is walked. */
export interface Telling {
  readonly lanes: Step[][]
  readonly traces: ExpectedSpan[]
  readonly fed: Fed
}

/** The records of one session, with a clock of its own. */
export class Lane {
  readonly name: string
  /** Changes in the middle of a turn. */
  sessionId: string
  at: number
  children = 0
  readonly #steps: Step[] = []
  readonly #pace: number
  /** What its first record follows. */
  readonly #start: Step | undefined
  #rotations = 0

  constructor(telling: Telling, name: string, clock: { readonly at: number; readonly pace: number }, start?: Step) {
    this.name = name
    this.sessionId = name
    this.at = clock.at
    this.#pace = clock.pace
    this.#start = start
    telling.lanes.push(this.#steps)
  }

  get last(): Step | undefined {
    return this.#steps.at(-1)
  }

  emit(hook: string, payload: object, how: Partial<Omit<Step, 'record'>> = {}): Step {
    const after = how.after ?? (this.#steps.length === 0 ? this.#start : undefined)
    this.at = Math.max(this.at, after?.record.at ?? 0) + 1 + ((this.#steps.length * this.#pace) % 300)
    const record = { hook, at: this.at, payload }
    const step: Step = { record, after, glued: how.glued ?? false, isAnonymous: how.isAnonymous ?? false }
    this.#steps.push(step)
    return step
  }

  rotate(): void {
    this.#rotations += 1
    this.sessionId = `${this.name}~${this.#rotations}`
  }
}
