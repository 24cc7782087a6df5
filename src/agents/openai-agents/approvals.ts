import type { Correlation } from '../../contract/index.ts'
import type { AnswerToolCall } from './model-spans.ts'
import { type AgentTurn, type CallDecision, type Choice, PendingApproval, type Trace } from './state.ts'

// Calls that need the user's approval. The host ends the run, and another run in the same trace continues it after the
// decision. The wait lies in between, as a child of the turn that requested it.

/** Remembers a call that its run ended without making. */
export function addPendingApproval(turn: AgentTurn, call: AnswerToolCall): PendingApproval {
  const { pendingApprovals: waiting } = turn.trace
  const known = waiting.get(call.id)
  if (known?.turn === turn) return known
  const added = new PendingApproval(turn, call)
  waiting.set(call.id, added)
  return added
}

export function emitApprovalRequest(waiting: PendingApproval, at: number, correlation?: Correlation): void {
  if (!waiting.isAsked) waiting.askedAt = at
  waiting.emitRequest({ command: waiting.call.args, surface: 'interruption' }, correlation)
}

/** The decision came before this process knew of the request: both are emitted now. */
export function emitDecision(turn: AgentTurn, { call, choice }: CallDecision, at: number): void {
  const waiting = addPendingApproval(turn, call)
  emitApprovalRequest(waiting, at, 'inferred')
  waiting.emitResponse(at, choice)
}

/** The call is now made, or was rejected. */
export function settleApproval(trace: Trace, callId: string, at: number, choice: Choice): void {
  const waiting = trace.pendingApprovals.get(callId)
  if (waiting === undefined) return
  trace.pendingApprovals.delete(callId)
  if (waiting.isAsked) waiting.emitResponse(at, choice, 'inferred')
}

/** The call is made again when the run continues, without an approval of its own. */
export function expectRepeatedCall(turn: AgentTurn, call: AnswerToolCall): void {
  const waiting = addPendingApproval(turn, call)
  waiting.isAsked = true
  waiting.isAnswered = true
}
