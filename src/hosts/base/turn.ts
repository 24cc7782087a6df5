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
    this.tell('post_llm_call', at, { assistant_response: answer, model })
  }

  over(at: number, { outcome, reason, model, platform }: TurnEnd): void {
    this.tell('on_session_end', at, {
      completed: outcome === 'completed',
      interrupted: outcome === 'interrupted',
      failed: outcome === 'failed',
      turn_exit_reason: reason,
      model,
      platform,
    })
  }
}
