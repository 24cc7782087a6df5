import { peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { plainText } from '../base/messages.ts'
import { HostTurn, RecordScope, type Records, type TurnResult } from '../base/records.ts'
import { modelOf, platformOf } from './messages.ts'
import { answerEnd, type PiCompaction, PiRequests } from './requests.ts'
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

export class PiSession {
  readonly id: string
  turn: PiTurn | undefined
  compaction: PiCompaction | undefined
  /** True while Pi repeats a request only to keep the provider's cache warm; its answer is not used. */
  isWarming = false
  /** `session_start` was received. It is emitted with the first turn, because a session without prompts is not traced. */
  isAnnounced = false
  readonly #records: Records
  #isStartEmitted = false
  #lastTurnAt = 0

  constructor(records: Records, id: string) {
    this.#records = records
    this.id = id
  }

  get hadTurns(): boolean {
    return this.#lastTurnAt !== 0
  }

  get scope(): RecordScope {
    return this.turn ?? new RecordScope(this.#records, this.id)
  }

  setWarming(isWarming: boolean): void {
    this.isWarming = isWarming
  }

  /** Begins a turn. Its id contains the time, not a counter: a conversation resumed in another process must not reuse ids. */
  openTurn({ at, context }: TimedEvent): PiTurn {
    const openedAt = Math.max(Math.trunc(at), this.#lastTurnAt + 1)
    this.#lastTurnAt = openedAt
    const turn = new PiTurn(this.#records, this.id, `${this.id}:${openedAt}`, at)
    this.turn = turn
    if (!this.#isStartEmitted && this.isAnnounced) {
      this.#isStartEmitted = true
      const { model, provider } = modelOf(context)
      const cwd = textOf(peek(context, 'cwd'))
      turn.emit('on_session_start', at, { model, provider, platform: platformOf(context), cwd })
    }
    return turn
  }

  closeTurn(moment: TimedEvent, isHostsWord: boolean): void {
    this.turn?.closeTurn(moment, isHostsWord)
    this.turn = undefined
  }

  removeCompaction(): PiCompaction | undefined {
    const { compaction } = this
    this.compaction = undefined
    return compaction
  }

  endAll(moment: TimedEvent): void {
    this.removeCompaction()?.failCompaction(moment)
    this.closeTurn(moment, false)
  }
}

const LEFT_LIMIT = 100

/** Joins consecutive sessions. Pi reports the end of the old one and the start of the new one separately. */
export class SessionChain {
  readonly #records: Records
  readonly #left = new LimitedMap<string, string>(LEFT_LIMIT)

  constructor(records: Records) {
    this.#records = records
  }

  addLeftSession(id: string, reason: string): void {
    this.#left.refresh(id, reason)
  }

  /**
   * @param reason why the old session was left
   * @param previousFile the old session's file, whose name contains its id; undefined if sessions are not saved
   */
  joinSession(id: string, at: number, reason: string | undefined, previousFile: string | undefined): void {
    const old = this.#predecessor(id, reason, previousFile)
    if (old === undefined) return
    this.#left.delete(old)
    const payload = { session_id: id, old_session_id: old, new_session_id: id, reason }
    this.#records.addRecord('on_session_reset', at, payload, previousFile === undefined ? 'inferred' : undefined)
  }

  #predecessor(id: string, reason: string | undefined, file: string | undefined): string | undefined {
    const fitting = [...this.#left].filter(([left, why]) => left !== id && why === reason).map(([left]) => left)
    if (file !== undefined) return fitting.find(left => file.includes(left))
    return fitting.length === 1 ? fitting[0] : undefined
  }
}
