import { textOf } from '../../contract/foreign.ts'
import type { Correlation } from '../../contract/index.ts'
import type { LoosePayload } from '../host-event.ts'
import { Approval } from './approval.ts'
import type { RecordScope } from './records.ts'

/** One tool call. Its id must be unique in the turn. Times are epoch milliseconds. */
export class Tool<Of extends RecordScope = RecordScope> {
  readonly turn: Of
  id: string
  name: unknown
  args: unknown
  requestId: string | undefined
  startAt: number
  approval: Approval | undefined
  /** `asked`: requested by the model. `running`: start emitted. `ended`: end emitted. */
  state: 'asked' | 'running' | 'ended' = 'asked'

  constructor(turn: Of, id: string, name: unknown, startAt: number) {
    this.turn = turn
    this.id = id
    this.name = name
    this.startAt = startAt
  }

  /** Sets the name and arguments, as far as they are known, of a call that has not started. */
  describe(name: unknown, args: unknown): void {
    if (this.state !== 'asked') return
    this.name = textOf(name) ?? this.name
    this.args = args ?? this.args
  }

  /** Requests the user's approval for this call. @param facts a new object, which is modified */
  requestApproval(at: number, facts: LoosePayload<'pre_approval_request'>, correlation?: Correlation): void {
    this.approval = new Approval(this.turn, this.id, this.name, at)
    this.approval.emitRequest(facts, correlation)
  }

  emitStart(correlation?: Correlation): void {
    if (this.state !== 'asked') return
    this.state = 'running'
    const facts = { tool_call_id: this.id, api_request_id: this.requestId, tool_name: this.name, args: this.args }
    this.turn.emit('pre_tool_call', this.startAt, facts, correlation)
  }

  /** Emits the end once; later calls do nothing. @param facts a new object, which is modified */
  emitEnd(at: number, facts: LoosePayload<'post_tool_call'>, correlation?: Correlation): void {
    if (this.state === 'ended') return
    this.state = 'ended'
    const whole = facts as { tool_call_id?: string; api_request_id?: string | undefined; tool_name?: unknown }
    whole.tool_call_id = this.id
    whole.api_request_id = this.requestId
    whole.tool_name = this.name
    this.turn.emit('post_tool_call', at, facts, correlation)
  }
}
