import { Scope } from './records.ts'

export type Outcome = 'completed' | 'failed' | 'interrupted'

/** What is known of a turn when it is over. */
export interface TurnEnd {
  readonly outcome: Outcome
  /** Why it ended, in a word. */
  readonly reason?: unknown
  readonly model?: unknown
  readonly platform?: unknown
}

/** One turn: a person's prompt and all that is done for it, or the same of a child agent. */
export class Turn extends Scope {
  /** The loop of requests and tools is over. */
  answered(at: number, answer: unknown, model?: unknown): void {
    const { sessionId: session_id, turnId: turn_id } = this
    this.records.add('post_llm_call', at, { session_id, turn_id, assistant_response: answer, model })
  }

  over(at: number, { outcome, reason, model, platform }: TurnEnd): void {
    const { sessionId: session_id, turnId: turn_id } = this
    this.records.add('on_session_end', at, {
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
