import type { Correlation } from '../../contract/index.ts'
import type { LoosePayload } from '../host-event.ts'
import type { RecordScope } from './records.ts'

/** A request to the user to approve a tool call. Times are epoch milliseconds. */
export class Approval<Of extends RecordScope = RecordScope> {
  readonly turn: Of
  readonly toolId: string | undefined
  readonly pattern: unknown
  askedAt: number
  isAsked = false
  isAnswered = false

  constructor(turn: Of, toolId: string | undefined, pattern: unknown, askedAt: number) {
    this.turn = turn
    this.toolId = toolId
    this.pattern = pattern
    this.askedAt = askedAt
  }

  /** Emits the request once; later calls do nothing. @param facts a new object, which is modified */
  emitRequest(facts: LoosePayload<'pre_approval_request'>, correlation?: Correlation): void {
    if (this.isAsked) return
    this.isAsked = true
    this.turn.emit('pre_approval_request', this.askedAt, this.#identified(facts), correlation)
  }

  /** Emits the response once, never dated before the request. @param choice a value of the contract */
  emitResponse(at: number, choice: unknown, correlation?: Correlation, decidedBy?: string): void {
    if (this.isAnswered) return
    this.isAnswered = true
    const payload = this.#identified({ choice, decided_by: decidedBy })
    this.turn.emit('post_approval_response', Math.max(at, this.askedAt), payload, correlation)
  }

  #identified<Facts extends object>(payload: Facts): Facts {
    const whole = payload as { tool_call_id?: string | undefined; pattern_key?: unknown }
    whole.tool_call_id = this.toolId
    whole.pattern_key = this.pattern
    return payload
  }
}

/** The user's choice, for an agent that reports only the status of the tool. */
export function inferredChoice(status: string | undefined): 'deny' | 'cancelled' | 'once' {
  return status === 'blocked' ? 'deny' : status === 'cancelled' ? 'cancelled' : 'once'
}
