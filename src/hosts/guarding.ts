import type { Able, HookIds, Outcome, Phase } from '../hooks/index.ts'
import type { EventOf } from '../hooks/phases.ts'

/** A question to the hooks, as an agent outside of this process asks it. */
export type Question = {
  readonly [P in Phase]: {
    readonly phase: P
    readonly ids: HookIds
    readonly event: EventOf<P>
  }
}[Phase]

/** What an agent is told. */
export interface Reply {
  /** Of a hook that is a request: the body of the answer. Of one that is a command: its standard output. Undefined: nothing. */
  readonly body?: object | undefined
  /** Of one that is a command. Default 0. */
  readonly exitCode?: number | undefined
  /** Of one that is a command: its standard error. */
  readonly error?: string | undefined
}

/** How hooks act in an agent that asks by requests, or by commands: pure functions of what it sends and understands. */
export interface Guarding {
  readonly able: Able
  /** Undefined: this event asks nothing. @param body what the agent has sent */
  question(body: unknown): Question | undefined
  /** In exactly the shape that the agent understands: one key too many, and some drop all of it. */
  reply(body: unknown, outcome: Outcome<Phase>): Reply
  /** What makes the agent not do what it asks about, where nobody can be asked and the person has said closed. */
  closed(body: unknown, reason: string): Reply
  /** Whether the turn is over with this event. */
  isEndOfTurn(body: unknown): boolean
}
