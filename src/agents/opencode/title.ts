import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { RecordScope, type Records } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { requestFacts } from './requests.ts'

interface TitleRequest {
  readonly startedAt: number
  readonly sessionId: string
  readonly turnId: string
  readonly facts: Readonly<Record<string, unknown>>
}

/**
 * The auxiliary request for a session's title. opencode does not report its end, only the new title. The request is therefore
 * emitted when the title arrives, possibly after the turn. If no title arrives, the request failed or was abandoned.
 */
export class Title {
  readonly #records: Records
  readonly #isTurn: (messageId: string) => boolean
  #last: string | undefined
  #request: TitleRequest | undefined

  /** @param isTurn returns true if the message has become a turn; otherwise the request is emitted without a turn */
  constructor(records: Records, isTurn: (messageId: string) => boolean) {
    this.#records = records
    this.#isTurn = isTurn
  }

  startRequest({ at, data, output }: TimedEvent, sessionId: string, turnId: string | undefined): void {
    const turn = turnId ?? idOf(peek(peek(data, 'message'), 'id'))
    if (turn === undefined || this.#request !== undefined) return
    this.#request = { startedAt: at, sessionId, turnId: turn, facts: requestFacts(data, output) }
  }

  /** Handles `session.created` and `session.updated`, which are emitted for many reasons. */
  readTitle(at: number, info: unknown): void {
    const title = textOf(peek(info, 'title'))
    const isNew = this.#last !== undefined && title !== undefined && title !== this.#last
    this.#last = title ?? this.#last
    if (isNew) this.#emitRequest()?.emitAnswer(at, {})
  }

  abandonRequest(at: number): void {
    const error = { type: 'no_title', message: 'no title came of it; opencode does not tell why' }
    this.#emitRequest()?.emitFailure(at, { error })
  }

  #emitRequest(): ModelRequest | undefined {
    if (this.#request === undefined) return undefined
    const { sessionId, turnId, facts, startedAt } = this.#request
    this.#request = undefined
    const scope = new RecordScope(this.#records, sessionId, this.#isTurn(turnId) ? turnId : undefined)
    const request = new ModelRequest(scope, startedAt, { id: `${turnId}:title`, task: 'title' })
    request.emitStart(facts)
    return request
  }
}
