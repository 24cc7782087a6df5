import type { Correlation } from '../../contract/index.ts'
import type { AskedCall } from './model-spans.ts'
import { type AgentTurn, type Choice, type Decision, type Trace, Waiting } from './state.ts'

// Calls that wait for a person. The host ends the run, and another one goes on in the same trace when somebody has
// decided; the wait lies between the two, below the turn that asked.

/** Remembers a call that a run ended without having made. */
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

/** Decided before this process knew that there was something to decide: all of it at once, without the wait. */
export function tellDecided(turn: AgentTurn, { call, choice }: Decision, at: number): void {
  const waiting = wait(turn, call)
  ask(waiting, at, 'inferred')
  waiting.emitResponse(at, choice)
}

/** The call is made now, or was refused: nobody waits for it any longer. */
export function settleApproval(trace: Trace, callId: string, at: number, choice: Choice): void {
  const waiting = trace.waiting.get(callId)
  if (waiting === undefined) return
  trace.waiting.delete(callId)
  if (waiting.isAsked) waiting.emitResponse(at, choice, 'inferred')
}

/** A call that is made again when the run goes on: nobody was asked about the call itself. */
export function callAgain(turn: AgentTurn, call: AskedCall): void {
  const waiting = wait(turn, call)
  waiting.isAsked = true
  waiting.isAnswered = true
}
