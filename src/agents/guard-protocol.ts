import type { Capabilities, HookIds, Outcome, Phase } from '../guards/index.ts'
import type { EventOf } from '../guards/phases.ts'

export type GuardRequest = {
  readonly [P in Phase]: {
    readonly phase: P
    readonly ids: HookIds
    readonly event: EventOf<P>
  }
}[Phase]

/**
 * The body is that of the HTTP response, or the standard output of a command; undefined: empty. `exitCode` (default 0) and
 * `error` (the standard error) are for commands. `BLOCK_EXIT_CODE` makes an agent block, with `error` as the reason.
 */
export interface HookReply {
  readonly body?: object | undefined
  readonly exitCode?: number | undefined
  readonly error?: string | undefined
}

export const BLOCK_EXIT_CODE = 2

/**
 * Connects guards to an agent whose hooks are HTTP requests or commands: pure functions of the hook's body and the guards'
 * outcome. `requestIn` returns undefined if the event has no phase to guard.
 */
export interface GuardProtocol {
  readonly capabilities: Capabilities
  requestIn(body: unknown): GuardRequest | undefined
  /** Builds exactly the shape that the agent understands: some agents drop the whole response because of one unknown key. */
  reply(body: unknown, outcome: Outcome<Phase>): HookReply
  /** Builds the response that blocks the action, for an outage of the guards when the user has chosen to fail closed. */
  failClosedReply(body: unknown, reason: string): HookReply
  isEndOfTurn(body: unknown): boolean
}
