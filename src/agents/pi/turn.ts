import { peek } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { plainText } from '../base/messages.ts'
import type { Records } from '../base/records.ts'
import { HostTurn, type TurnResult } from '../base/turn.ts'
import { modelOf, platformOf } from './messages.ts'
import { answerEnd, PiRequests } from './requests.ts'
import { PiTools } from './tools.ts'

/**
 * One turn of a session: from a prompt until the agent is idle. Pi's own "turn" is one request here, and Pi runs the agent anew
 * for every retry. A turn is therefore delimited by the prompt and `agent_settled` only.
 */
export class PiTurn extends HostTurn {
  readonly openedAt: number
  readonly requests: PiRequests = new PiRequests(this)
  readonly tools: PiTools = new PiTools(this)
  #ranUntil: number | undefined
  #isTold = false
  #isAborted = false
  #last: TurnResult | undefined
  #stopReason: unknown
  #answer: string | undefined
  #answeredAt: number | undefined

  constructor(records: Records, sessionId: string, turnId: string, openedAt: number) {
    super(records, sessionId, turnId)
    this.openedAt = openedAt
  }

  /** True if the last answer did not fail, so that no retry follows. */
  get isAnswered(): boolean {
    return this.#last !== undefined && this.#last !== 'failed'
  }

  /** Emits the start once the prompt is known, at the latest with the first activity. */
  emitPrompt({ context }: TimedEvent, message?: unknown): void {
    if (this.#isTold) return
    this.#isTold = true
    const { model, provider } = modelOf(context)
    const payload = { user_message: plainText(message), model, provider, platform: platformOf(context) }
    this.emit('pre_llm_call', this.openedAt, payload)
  }

  startRun(): void {
    this.#ranUntil = undefined
    this.requests.forgetHeaders()
  }

  endRun(at: number): void {
    this.#ranUntil = at
  }

  abort(): void {
    this.#isAborted = true
  }

  receiveAnswer(moment: TimedEvent, message: unknown): void {
    this.#last = answerEnd(moment, message)
    this.#isAborted = this.#last === 'interrupted'
    this.#stopReason = peek(message, 'stopReason')
    this.#answeredAt = moment.at
    this.#answer = this.#last === 'completed' ? plainText(peek(message, 'content')) : undefined
    this.requests.endRequest(moment, message)
  }

  /**
   * Ends the turn. If the host reported the end, that time counts. Otherwise a new turn has begun, and this one ended with its
   * last run or a final answer.
   */
  closeTurn(moment: TimedEvent, isHostsWord: boolean): void {
    const overAt = this.#ranUntil ?? (this.#stopReason === 'stop' ? this.#answeredAt : undefined)
    const at = isHostsWord ? moment.at : (overAt ?? moment.at)
    const isInterrupted = this.#isAborted || (!isHostsWord && overAt === undefined)
    const outcome = isInterrupted ? 'interrupted' : (this.#last ?? 'completed')
    const { model } = modelOf(moment.context)
    this.emitPrompt(moment)
    this.tools.close(at)
    this.emitAnswer(Math.min(at, this.#ranUntil ?? at), outcome === 'completed' ? this.#answer : undefined, model)
    const reason = this.#isAborted ? 'aborted' : this.#stopReason
    this.emitEnd(at, { outcome, reason, model, platform: platformOf(moment.context) })
  }
}
