import { peek } from '../../contract/foreign.ts'
import type { Moment } from '../base/event-machine.ts'
import { plainText } from '../base/messages.ts'
import type { Records } from '../base/records.ts'
import { type Outcome, Turn } from '../base/turn.ts'
import { modelOf, platformOf } from './context.ts'
import { answerEnd, PiRequests } from './requests.ts'
import { PiTools } from './tools.ts'

/**
 * One turn of a session: from a prompt until the agent is idle again. Pi calls a turn what is one request here, and runs
 * the agent anew for every retry, so what is a turn is known from the prompt and from `agent_settled` only.
 */
export class PiTurn extends Turn {
  readonly openedAt: number
  readonly requests: PiRequests = new PiRequests(this)
  readonly tools: PiTools = new PiTools(this)
  /** `agent_end` of the last run. Another run may follow in the same turn. */
  #ranUntil: number | undefined
  #isTold = false
  #isAborted = false
  #last: Outcome | undefined
  #stopReason: unknown
  #answer: string | undefined
  #answeredAt: number | undefined

  constructor(records: Records, sessionId: string, turnId: string, openedAt: number) {
    super(records, sessionId, turnId)
    this.openedAt = openedAt
  }

  /** The last answer was no failure, so nothing is tried again. */
  get isAnswered(): boolean {
    return this.#last !== undefined && this.#last !== 'failed'
  }

  /** The beginning is told when it is known what it is about, and at the latest with the first thing that is done. */
  tellPrompt({ context }: Moment, message?: unknown): void {
    if (this.#isTold) return
    this.#isTold = true
    const { model, provider } = modelOf(context)
    const payload = { user_message: plainText(message), model, provider, platform: platformOf(context) }
    this.tell('pre_llm_call', this.openedAt, payload)
  }

  /** `agent_start`: the first run, or one more after a failure. */
  runs(): void {
    this.#ranUntil = undefined
    this.requests.forgetHeaders()
  }

  ran(at: number): void {
    this.#ranUntil = at
  }

  /** The person has stopped the run, while a tool was at work or the next attempt was awaited. */
  aborted(): void {
    this.#isAborted = true
  }

  /** `message_end` of the assistant. */
  answer(moment: Moment, message: unknown): void {
    this.#last = answerEnd(moment, message)
    this.#isAborted = this.#last === 'interrupted'
    this.#stopReason = peek(message, 'stopReason')
    this.#answeredAt = moment.at
    this.#answer = this.#last === 'completed' ? plainText(peek(message, 'content')) : undefined
    this.requests.end(moment, message)
  }

  /**
   * The turn is over: by the host's word, or because what comes now belongs to another one; then it was over with its
   * last run, or with an answer that asked for nothing more.
   */
  close(moment: Moment, isHostsWord: boolean): void {
    const overAt = this.#ranUntil ?? (this.#stopReason === 'stop' ? this.#answeredAt : undefined)
    const at = isHostsWord ? moment.at : (overAt ?? moment.at)
    const outcome = isHostsWord || overAt !== undefined ? this.#outcome() : 'interrupted'
    const { model } = modelOf(moment.context)
    this.tellPrompt(moment)
    this.tools.close(at)
    this.answered(Math.min(at, this.#ranUntil ?? at), outcome === 'completed' ? this.#answer : undefined, model)
    const reason = this.#isAborted ? 'aborted' : this.#stopReason
    this.over(at, { outcome, reason, model, platform: platformOf(moment.context) })
  }

  #outcome(): Outcome {
    if (this.#isAborted) return 'interrupted'
    return this.#last ?? 'completed'
  }
}
