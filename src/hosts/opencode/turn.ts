import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { Moment } from '../base/event-machine.ts'
import { joined } from '../base/messages.ts'
import { type Outcome, Turn } from '../base/turn.ts'
import { choiceOf, Permissions } from './approvals.ts'
import { type Failure, failureOf } from './failure.ts'
import { BLANK_LINE } from './prompts.ts'
import { StepRequests } from './requests.ts'
import { type ToolCall, ToolCalls } from './tools.ts'

/** Finish reason of a step that wants its tools' results: the turn goes on after it. */
const WANTS_TOOLS = 'tool-calls'

export interface TurnOutcome {
  readonly status: Outcome
  readonly reason: string | undefined
  /** What the model answered. */
  readonly summary: string | undefined
}

/** One turn: a user's message, and every step that answers it. A step is an assistant message. */
export class OpencodeTurn extends Turn {
  readonly requests: StepRequests = new StepRequests(this)
  readonly calls: ToolCalls = new ToolCalls(this)
  readonly permissions: Permissions = new Permissions(this)
  readonly #messages = new Set<string>()
  /** Message of the last step, and whether it is still being written. */
  #current: string | undefined
  isWriting = false
  readonly #texts = new Map<string, string>()
  #answer: string | undefined
  #finish: string | undefined
  #failure: Failure | undefined
  #isRefused = false
  /** Call of the tool that asks, by the question's id. */
  readonly #questions = new Map<string, string | undefined>()
  /** The session was told to be idle, epoch milliseconds; after an error that comes before the last step is closed. */
  idleAt: number | undefined
  /** Whether the bus has told of it. Hooks overtake the bus: until then what it says is of the turn before. */
  isOnBus = false

  /** Whether the person has stopped the run. */
  get isStopped(): boolean {
    return this.#failure?.isAbort === true
  }

  /** `chat.params` of the loop, or of a compaction within it. */
  request(moment: Moment): void {
    if (!this.requests.start(moment, this.#current)) return
    // What a failed attempt has said is no part of the answer, and an error that was tried again is none of the turn.
    this.#texts.clear()
    this.#failure = undefined
    this.idleAt = undefined
  }

  /** `message.updated` of an assistant: told at its beginning, with its finish reason and when it is complete. */
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

  /** A part of a step, but for tools. */
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

  /** A call of a step of this turn; undefined for one that is not, or that is not told enough of. */
  call(at: number, part: unknown, status: unknown): ToolCall | undefined {
    const known = this.calls.known(part)
    if (known !== undefined) return known
    const messageId = idOf(peek(part, 'messageID'))
    // A call of an earlier turn may still say something, or be told again when its result is pruned.
    const isOurs = messageId === undefined || this.#messages.has(messageId)
    const isMissed = this.#messages.size === 0 && (status === 'pending' || status === 'running')
    return isOurs || isMissed ? this.calls.add(part, at, this.requests.idFor(messageId)) : undefined
  }

  retry(at: number, status: unknown): void {
    const message = textOf(peek(status, 'message'))
    this.requests.fail(at, { type: 'provider_error', message, statusCode: undefined, isAbort: false }, true)
  }

  /** `session.error`. */
  error(at: number, error: unknown): void {
    const failure = failureOf(error)
    if (failure !== undefined) this.#failed(at, failure)
  }

  #failed(at: number, failure: Failure): void {
    this.#failure = failure
    // Stopped while its tools ran: the model had answered by then, only that was never told.
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

  /** A question of the model to the person: the call of the tool that asks is the waiting, and needs no approval. */
  questioned(data: unknown): void {
    const id = idOf(peek(data, 'id'))
    if (id !== undefined) this.#questions.set(id, idOf(peek(peek(data, 'tool'), 'callID')))
  }

  /** The person would not answer it. */
  dismissed(data: unknown): void {
    const id = idOf(peek(data, 'requestID'))
    if (id === undefined || !this.#questions.has(id)) return
    const call = this.calls.find(this.#questions.get(id))
    if (call !== undefined) call.isDismissed = true
    this.#isRefused = true
  }

  /** @param step what has its `tokens` and its `cost` */
  #stepEnded(at: number, messageId: string, reason: unknown, step: unknown): void {
    const text = joined([...this.#texts.values()], BLANK_LINE)
    if (this.requests.isMain) {
      this.#answer = text
      this.#finish = textOf(reason)
    }
    this.requests.end(at, messageId, reason, step, { text, toolCalls: this.calls.calledIn(messageId) })
  }

  /** @param isTakenOver whether the session goes on with the next prompt */
  outcome(isTakenOver: boolean): TurnOutcome {
    const failure = this.#failure
    const summary = this.#answer
    if (failure !== undefined) {
      return { status: failure.isAbort ? 'interrupted' : 'failed', reason: failure.type, summary }
    }
    if (this.requests.hasFailed) return { status: 'failed', reason: undefined, summary }
    // Nobody answers what was refused, unless the configuration says that the model goes on.
    if (this.#isRefused && this.#finish === WANTS_TOOLS) return { status: 'interrupted', reason: 'refused', summary }
    if (isTakenOver && this.#finish === WANTS_TOOLS) return { status: 'interrupted', reason: 'next_prompt', summary }
    return { status: 'completed', reason: this.#finish, summary }
  }

  end(at: number, { status, reason, summary }: TurnOutcome): void {
    this.permissions.cancel(at)
    this.answered(at, status === 'completed' ? summary : undefined)
    this.over(at, { outcome: status, reason })
  }
}
