import { RecordScope, type Records, type TurnResult } from './records.ts'
import { RequestCounter } from './requests.ts'

export interface HostTurnEnd {
  readonly outcome: TurnResult
  readonly reason?: unknown
  readonly model?: unknown
  readonly platform?: unknown
}

/** A turn of any agent. Times are epoch milliseconds; `lastAt` is that of its newest event. */
export class HostTurn extends RecordScope {
  readonly startAt: number
  lastAt: number
  hasEnded = false
  readonly requests: RequestCounter = new RequestCounter(this)

  constructor(records: Records, sessionId: string | undefined, turnId: string, startAt: number) {
    super(records, sessionId, turnId)
    this.startAt = startAt
    this.lastAt = startAt
  }

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
