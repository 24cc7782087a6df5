import { RecordScope } from './records.ts'

export type TurnResult = 'completed' | 'failed' | 'interrupted'

export interface HostTurnEnd {
  readonly outcome: TurnResult
  readonly reason?: unknown
  readonly model?: unknown
  readonly platform?: unknown
}

export class HostTurn extends RecordScope {
  emitAnswer(at: number, answer: unknown, model?: unknown): void {
    this.emit('post_llm_call', at, { assistant_response: answer, model })
  }

  emitEnd(at: number, { outcome, reason, model, platform }: HostTurnEnd): void {
    this.emit('on_session_end', at, {
      completed: outcome === 'completed',
      interrupted: outcome === 'interrupted',
      failed: outcome === 'failed',
      turn_exit_reason: reason,
      model,
      platform,
    })
  }
}
