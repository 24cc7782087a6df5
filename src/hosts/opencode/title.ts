import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import type { Moment, TurnIds } from './moment.ts'
import { requestFacts } from './requests.ts'

interface TitleRequest {
  readonly startedAt: number
  readonly ids: TurnIds
  readonly facts: Readonly<Record<string, unknown>>
}

/**
 * The side request for a session's title. Its end is not told, but the new title is; so it is told as a whole when that
 * comes, which may be after the turn. A title that never comes is a request that failed, or that was not waited for.
 */
export class Title {
  readonly #isTurn: (messageId: string) => boolean
  #last: string | undefined
  #request: TitleRequest | undefined

  /** @param isTurn whether a message has become a turn: where none was seen, the request stands alone */
  constructor(isTurn: (messageId: string) => boolean) {
    this.#isTurn = isTurn
  }

  /** `chat.params` of the agent `title`. */
  asked({ at, data, output }: Moment, sessionId: string, turnId: string | undefined): void {
    const turn = turnId ?? idOf(peek(peek(data, 'message'), 'id'))
    if (turn === undefined || this.#request !== undefined) return
    const ids = { session_id: sessionId, turn_id: turn }
    this.#request = { startedAt: at, ids, facts: requestFacts(data, output) }
  }

  /** Of `session.created` and `session.updated`, which come for many reasons. */
  told(at: number, info: unknown): HookRecord[] {
    const title = textOf(peek(info, 'title'))
    const isNew = this.#last !== undefined && title !== undefined && title !== this.#last
    this.#last = title ?? this.#last
    return isNew ? this.#records(at, {}) : []
  }

  /** Nothing more is to be expected. */
  gaveUp(at: number): HookRecord[] {
    return this.#records(at, {
      error: { type: 'no_title', message: 'no title came of it; opencode does not tell why' },
    })
  }

  #records(at: number, end: Readonly<Record<string, unknown>>): HookRecord[] {
    const request = this.#request
    if (request === undefined) return []
    this.#request = undefined
    const { ids, facts, startedAt } = request
    const { session_id, turn_id } = ids
    const identity = {
      session_id,
      ...(this.#isTurn(turn_id) ? { turn_id } : {}),
      api_request_id: `${turn_id}:title`,
      aux_task: 'title',
    }
    return [
      hookRecord('pre_auxiliary_call', startedAt, { ...identity, ...facts }),
      hookRecord('post_auxiliary_call', at, { ...identity, ...end }),
    ]
  }
}
