import type { Correlation } from '../../contract/index.ts'
import type { AskedCall } from './model-spans.ts'
import { type AgentTurn, type Choice, type Decision, type Trace, Waiting } from './state.ts'

// Calls that need the user's approval. The host ends the run, and another run in the same trace continues it after the
// decision. The wait lies in between, as a child of the turn that requested it.

/** Remembers a call that its run ended without making. */
export function wait(turn: AgentTurn, call: AskedCall): Waiting {
  const { waiting } = turn.trace
  const known = waiting.get(call.id)
  if (known?.turn === turn) return known
  const added = new Waiting(turn, call)
  waiting.set(call.id, added)
  return added
}

export function ask(waiting: Waiting, at: number, correlation?: Correlation): void {
  if (!waiting.isAsked) waiting.askedAt = at
  waiting.emitRequest({ command: waiting.call.args, surface: 'interruption' }, correlation)
}

/** The decision came before this process knew of the request: both are emitted now. */
export function tellDecided(turn: AgentTurn, { call, choice }: Decision, at: number): void {
  const waiting = wait(turn, call)
  ask(waiting, at, 'inferred')
  waiting.emitResponse(at, choice)
}

/** The call is now made, or was rejected. */
export function settleApproval(trace: Trace, callId: string, at: number, choice: Choice): void {
  const waiting = trace.waiting.get(callId)
  if (waiting === undefined) return
  trace.waiting.delete(callId)
  if (waiting.isAsked) waiting.emitResponse(at, choice, 'inferred')
}

/** The call is made again when the run continues, without an approval of its own. */
export function callAgain(turn: AgentTurn, call: AskedCall): void {
  const waiting = wait(turn, call)
  waiting.isAsked = true
  waiting.isAnswered = true
}
