import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { joinTexts } from '../base/messages.ts'
import { HostTurn, type TurnResult } from '../base/records.ts'
import { failureOf, type OpencodeFailure, StepRequests } from './requests.ts'
import { choiceOf, type OpencodeToolCall, Permissions, ToolCalls } from './tools.ts'

export const BLANK_LINE = '\n\n'
/** Finish reason of a step that requests tools: the turn continues after it. */
const WANTS_TOOLS = 'tool-calls'

export interface TurnOutcome {
  readonly status: TurnResult
  readonly reason: string | undefined
  readonly summary: string | undefined
}

/** One turn: a user's message, and every step that answers it. A step is an assistant message. */
export class OpencodeTurn extends HostTurn {
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
  #failure: OpencodeFailure | undefined
  #isRefused = false
  readonly #questions = new Map<string, string | undefined>()
  /** When the session became idle, epoch milliseconds. After an error, this happens before the last step is closed. */
  idleAt: number | undefined
  /** True once the bus has mentioned this turn. Hooks overtake the bus, so earlier bus events belong to the previous turn. */
  isOnBus = false

  get isStopped(): boolean {
    return this.#failure?.isAbort === true
  }

  startRequest(moment: TimedEvent): void {
    if (!this.requests.startRequest(moment, this.#current)) return
    // The text of a failed attempt is not part of the answer, and an error that is retried does not fail the turn.
    this.#texts.clear()
    this.#failure = undefined
    this.idleAt = undefined
  }

  /**
   * Handles `message.updated` of an assistant message: emitted at its beginning, with the finish reason, and when it is complete.
   */
  readMessage(at: number, info: unknown): void {
    const id = idOf(peek(info, 'id'))
    if (id === undefined) return
    const isComplete = peek(peek(info, 'time'), 'completed') !== undefined
    if (!this.#messages.has(id)) this.#beginStep(at, id, !isComplete)
    if (id !== this.#current) return
    const failure = failureOf(peek(info, 'error'))
    if (failure !== undefined) this.#failStep(at, failure)
    const finish = textOf(peek(info, 'finish'))
    if (finish !== undefined || isComplete) this.#endStep(at, id, finish, info)
    if (isComplete) this.isWriting = false
  }

  #beginStep(at: number, id: string, isWriting: boolean): void {
    if (!this.requests.isOf(id)) this.requests.endUnreported(at)
    this.isOnBus = true
    this.#messages.add(id)
    this.#current = id
    this.isWriting = isWriting
    this.#texts.clear()
  }

  readPart(at: number, part: unknown): void {
    const messageId = idOf(peek(part, 'messageID'))
    if (messageId === undefined || messageId !== this.#current) return
    const type = peek(part, 'type')
    if (type === 'step-finish') this.#endStep(at, messageId, peek(part, 'reason'), part)
    if (type !== 'text' && type !== 'reasoning') return
    this.requests.receiveOutput(at, messageId)
    const id = idOf(peek(part, 'id'))
    const text = peek(part, 'text')
    if (type === 'text' && id !== undefined && typeof text === 'string') this.#texts.set(id, text)
  }

  callOfPart(at: number, part: unknown, status: unknown): OpencodeToolCall | undefined {
    const known = this.calls.known(part)
    if (known !== undefined) return known
    const messageId = idOf(peek(part, 'messageID'))
    // A call of an earlier turn may still be updated, for example when its result is pruned.
    const isOurs = messageId === undefined || this.#messages.has(messageId)
    const isMissed = this.#messages.size === 0 && (status === 'pending' || status === 'running')
    return isOurs || isMissed ? this.calls.add(part, at, this.requests.idFor(messageId)) : undefined
  }

  announceRetry(at: number, status: unknown): void {
    const message = textOf(peek(status, 'message'))
    this.requests.failRequest(at, { type: 'provider_error', message, statusCode: undefined, isAbort: false }, true)
  }

  receiveError(at: number, error: unknown): void {
    const failure = failureOf(error)
    if (failure !== undefined) this.#failStep(at, failure)
  }

  #failStep(at: number, failure: OpencodeFailure): void {
    this.#failure = failure
    // Stopped while tools ran: the model had answered, only its end was not reported.
    if (failure.isAbort && this.calls.haveBegun(this.#current)) this.requests.endUnreported(at)
    else this.requests.failRequest(at, failure, false)
  }

  receiveReply(at: number, data: unknown): void {
    const permission = this.permissions.pendingPermission(data)
    if (permission === undefined) return
    const choice = choiceOf(data)
    const call = this.calls.find(permission.toolId)
    if (choice === 'deny') {
      this.#isRefused = true
      if (call !== undefined) call.isRefused = true
    }
    permission.emitReply(at, choice)
  }

  /** Handles a question of the model to the user. The tool call covers the wait, so there is no approval. */
  addQuestion(data: unknown): void {
    const id = idOf(peek(data, 'id'))
    if (id !== undefined) this.#questions.set(id, idOf(peek(peek(data, 'tool'), 'callID')))
  }

  dismissQuestion(data: unknown): void {
    const id = idOf(peek(data, 'requestID'))
    if (id === undefined || !this.#questions.has(id)) return
    const call = this.calls.find(this.#questions.get(id))
    if (call !== undefined) call.isDismissed = true
    this.#isRefused = true
  }

  #endStep(at: number, messageId: string, reason: unknown, step: unknown): void {
    const text = joinTexts([...this.#texts.values()], BLANK_LINE)
    if (this.requests.isMain) {
      this.#answer = text
      this.#finish = textOf(reason)
    }
    this.requests.endRequest(at, messageId, reason, step, { text, toolCalls: this.calls.calledIn(messageId) })
  }

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

  emitTurnEnd(at: number, { status, reason, summary }: TurnOutcome): void {
    this.permissions.cancelPermissions(at)
    this.emitAnswer(at, status === 'completed' ? summary : undefined)
    this.emitEnd(at, { outcome: status, reason })
  }
}
