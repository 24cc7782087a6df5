import { RecordScope } from './records.ts'

export type TurnResult = 'completed' | 'failed' | 'interrupted'

export interface HostTurnEnd {
  readonly outcome: TurnResult
  readonly reason?: unknown
  readonly model?: unknown
  readonly platform?: unknown
}

/** One turn: a user's prompt and all work for it, or the work of a child agent. */
export class HostTurn extends RecordScope {
  emitAnswer(at: number, answer: unknown, model?: unknown): void {
    const { sessionId: session_id, turnId: turn_id } = this
    this.records.addRecord('post_llm_call', at, { session_id, turn_id, assistant_response: answer, model })
  }

  emitEnd(at: number, { outcome, reason, model, platform }: HostTurnEnd): void {
    const { sessionId: session_id, turnId: turn_id } = this
    this.records.addRecord('on_session_end', at, {
      session_id,
      turn_id,
      completed: outcome === 'completed',
      interrupted: outcome === 'interrupted',
      failed: outcome === 'failed',
      turn_exit_reason: reason,
      model,
      platform,
    })
  }
}
