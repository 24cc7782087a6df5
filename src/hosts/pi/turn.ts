import { peek } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import { plainText } from './messages.ts'
import { type Moment, modelOf, platformOf, type TurnIds } from './moment.ts'
import { type AnswerEnd, answerEnd, PiRequests } from './requests.ts'
import { PiTools } from './tools.ts'

/**
 * One turn of a session: from a prompt until the agent is idle again. Pi calls a turn what is one request here, and runs
 * the agent anew for every retry, so what is a turn is known from the prompt and from `agent_settled` only.
 */
export class PiTurn {
  readonly ids: TurnIds
  readonly openedAt: number
  readonly requests: PiRequests
  readonly tools: PiTools
  /** `agent_end` of the last run. Another run may follow in the same turn. */
  #ranUntil: number | undefined
  #isTold = false
  #isAborted = false
  #last: AnswerEnd | undefined
  #stopReason: unknown
  #answer: string | undefined
  #answeredAt: number | undefined

  constructor(ids: TurnIds, openedAt: number) {
    this.ids = ids
    this.openedAt = openedAt
    this.requests = new PiRequests(ids)
    this.tools = new PiTools(ids)
  }

  /** The last answer was no failure, so nothing is tried again. */
  get isAnswered(): boolean {
    return this.#last !== undefined && this.#last !== 'failed'
  }

  /** The beginning is told when it is known what it is about, and at the latest with the first thing that is done. */
  tell({ context }: Moment, message?: unknown): HookRecord[] {
    if (this.#isTold) return []
    this.#isTold = true
    const { model, provider } = modelOf(context)
    const payload = { ...this.ids, user_message: plainText(message), model, provider, platform: platformOf(context) }
    return [hookRecord('pre_llm_call', this.openedAt, payload)]
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
  answered(moment: Moment, message: unknown): HookRecord[] {
    this.#last = answerEnd(moment, message)
    this.#isAborted = this.#last === 'interrupted'
    this.#stopReason = peek(message, 'stopReason')
    this.#answeredAt = moment.at
    this.#answer = this.#last === 'completed' ? plainText(peek(message, 'content')) : undefined
    return this.requests.end(moment, message)
  }

  /**
   * The turn is over: by the host's word, or because what comes now belongs to another one; then it was over with its
   * last run, or with an answer that asked for nothing more.
   */
  close(moment: Moment, isHostsWord: boolean): HookRecord[] {
    const overAt = this.#ranUntil ?? (this.#stopReason === 'stop' ? this.#answeredAt : undefined)
    const at = isHostsWord ? moment.at : (overAt ?? moment.at)
    const end = isHostsWord || overAt !== undefined ? this.#outcome() : 'interrupted'
    const { model } = modelOf(moment.context)
    return [
      ...this.tell(moment),
      ...this.tools.close(at),
      hookRecord('post_llm_call', Math.min(at, this.#ranUntil ?? at), {
        ...this.ids,
        assistant_response: end === 'completed' ? this.#answer : undefined,
        model,
      }),
      hookRecord('on_session_end', at, {
        ...this.ids,
        completed: end === 'completed',
        interrupted: end === 'interrupted',
        failed: end === 'failed',
        turn_exit_reason: this.#isAborted ? 'aborted' : this.#stopReason,
        model,
        platform: platformOf(moment.context),
      }),
    ]
  }

  #outcome(): AnswerEnd {
    if (this.#isAborted) return 'interrupted'
    return this.#last ?? 'completed'
  }
}
