import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { joinTexts } from '../base/messages.ts'
import { RecordedTurn, type TurnResult } from '../base/turn.ts'
import { choiceOf, Permissions } from './approvals.ts'
import { type Failure, failureOf } from './failure.ts'
import { BLANK_LINE } from './prompts.ts'
import { StepRequests } from './requests.ts'
import { type ToolCall, ToolCalls } from './tools.ts'

/** Finish reason of a step that requests tools: the turn continues after it. */
const WANTS_TOOLS = 'tool-calls'

export interface TurnOutcome {
  readonly status: TurnResult
  readonly reason: string | undefined
  readonly summary: string | undefined
}

/** One turn: a user's message, and every step that answers it. A step is an assistant message. */
export class OpencodeTurn extends RecordedTurn {
  readonly requests: StepRequests = new StepRequests(this)
  readonly calls: ToolCalls = new ToolCalls(this)
  readonly permissions: Permissions = new Permissions(this)
  readonly #messages = new Set<string>()
  /** The message of the last step. `isWriting` is true while it is incomplete. */
  #current: string | undefined
  isWriting = false
  readonly #texts = new Map<string, string>()
  #answer: string | undefined
  #finish: string | undefined
  #failure: Failure | undefined
  #isRefused = false
  /** Call id of the asking tool, by question id. */
  readonly #questions = new Map<string, string | undefined>()
  /** When the session became idle, epoch milliseconds. After an error, this happens before the last step is closed. */
  idleAt: number | undefined
  /** True once the bus has mentioned this turn. Hooks overtake the bus, so earlier bus events belong to the previous turn. */
  isOnBus = false

  get isStopped(): boolean {
    return this.#failure?.isAbort === true
  }

  /** Handles `chat.params` of the loop, or of a compaction within it. */
  request(moment: TimedEvent): void {
    if (!this.requests.start(moment, this.#current)) return
    // The text of a failed attempt is not part of the answer, and an error that is retried does not fail the turn.
    this.#texts.clear()
    this.#failure = undefined
    this.idleAt = undefined
  }

  /**
   * Handles `message.updated` of an assistant message: emitted at its beginning, with the finish reason, and when it is complete.
   */
  message(at: number, info: unknown): void {
    const id = idOf(peek(info, 'id'))
    if (id === undefined) return
    const isComplete = peek(peek(info, 'time'), 'completed') !== undefined
    if (!this.#messages.has(id)) this.#began(at, id, !isComplete)
    if (id !== this.#current) return
    const failure = failureOf(peek(info, 'error'))
    if (failure !== undefined) this.#failed(at, failure)
    const finish = textOf(peek(info, 'finish'))
    if (finish !== undefined || isComplete) this.#stepEnded(at, id, finish, info)
    if (isComplete) this.isWriting = false
  }

  #began(at: number, id: string, isWriting: boolean): void {
    if (!this.requests.isOf(id)) this.requests.untoldEnd(at)
    this.isOnBus = true
    this.#messages.add(id)
    this.#current = id
    this.isWriting = isWriting
    this.#texts.clear()
  }

  /** Handles a part of a step other than a tool. */
  part(at: number, part: unknown): void {
    const messageId = idOf(peek(part, 'messageID'))
    if (messageId === undefined || messageId !== this.#current) return
    const type = peek(part, 'type')
    if (type === 'step-finish') this.#stepEnded(at, messageId, peek(part, 'reason'), part)
    if (type !== 'text' && type !== 'reasoning') return
    this.requests.sign(at, messageId)
    const id = idOf(peek(part, 'id'))
    const text = peek(part, 'text')
    if (type === 'text' && id !== undefined && typeof text === 'string') this.#texts.set(id, text)
  }

  /** Returns the call of a part in this turn. Returns undefined if it belongs to another turn or lacks an id. */
  call(at: number, part: unknown, status: unknown): ToolCall | undefined {
    const known = this.calls.known(part)
    if (known !== undefined) return known
    const messageId = idOf(peek(part, 'messageID'))
    // A call of an earlier turn may still be updated, for example when its result is pruned.
    const isOurs = messageId === undefined || this.#messages.has(messageId)
    const isMissed = this.#messages.size === 0 && (status === 'pending' || status === 'running')
    return isOurs || isMissed ? this.calls.add(part, at, this.requests.idFor(messageId)) : undefined
  }

  retry(at: number, status: unknown): void {
    const message = textOf(peek(status, 'message'))
    this.requests.fail(at, { type: 'provider_error', message, statusCode: undefined, isAbort: false }, true)
  }

  /** Handles `session.error`. */
  error(at: number, error: unknown): void {
    const failure = failureOf(error)
    if (failure !== undefined) this.#failed(at, failure)
  }

  #failed(at: number, failure: Failure): void {
    this.#failure = failure
    // Stopped while tools ran: the model had answered, only its end was not reported.
    if (failure.isAbort && this.calls.haveBegun(this.#current)) this.requests.untoldEnd(at)
    else this.requests.fail(at, failure, false)
  }

  permissionReplied(at: number, data: unknown): void {
    const permission = this.permissions.open(data)
    if (permission === undefined) return
    const choice = choiceOf(data)
    const call = this.calls.find(permission.toolId)
    if (choice === 'deny') {
      this.#isRefused = true
      if (call !== undefined) call.isRefused = true
    }
    permission.settle(at, choice)
  }

  /** Handles a question of the model to the user. The tool call covers the wait, so there is no approval. */
  questioned(data: unknown): void {
    const id = idOf(peek(data, 'id'))
    if (id !== undefined) this.#questions.set(id, idOf(peek(peek(data, 'tool'), 'callID')))
  }

  /** Handles the user's refusal to answer a question. */
  dismissed(data: unknown): void {
    const id = idOf(peek(data, 'requestID'))
    if (id === undefined || !this.#questions.has(id)) return
    const call = this.calls.find(this.#questions.get(id))
    if (call !== undefined) call.isDismissed = true
    this.#isRefused = true
  }

  /** @param step the object with `tokens` and `cost` */
  #stepEnded(at: number, messageId: string, reason: unknown, step: unknown): void {
    const text = joinTexts([...this.#texts.values()], BLANK_LINE)
    if (this.requests.isMain) {
      this.#answer = text
      this.#finish = textOf(reason)
    }
    this.requests.end(at, messageId, reason, step, { text, toolCalls: this.calls.calledIn(messageId) })
  }

  /** @param isTakenOver true if the session continues with the next prompt */
  outcome(isTakenOver: boolean): TurnOutcome {
    const failure = this.#failure
    const summary = this.#answer
    if (failure !== undefined) {
      return { status: failure.isAbort ? 'interrupted' : 'failed', reason: failure.type, summary }
    }
    if (this.requests.hasFailed) return { status: 'failed', reason: undefined, summary }
    // After a denial the model does not continue, unless the configuration allows it.
    if (this.#isRefused && this.#finish === WANTS_TOOLS) return { status: 'interrupted', reason: 'refused', summary }
    if (isTakenOver && this.#finish === WANTS_TOOLS) return { status: 'interrupted', reason: 'next_prompt', summary }
    return { status: 'completed', reason: this.#finish, summary }
  }

  end(at: number, { status, reason, summary }: TurnOutcome): void {
    this.permissions.cancel(at)
    this.emitAnswer(at, status === 'completed' ? summary : undefined)
    this.emitEnd(at, { outcome: status, reason })
  }
}
