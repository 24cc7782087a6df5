import { booleanOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import { failureOf, usageOf } from './messages.ts'
import { type Moment, modelOf } from './moment.ts'

interface Ids {
  readonly session_id: string
  readonly turn_id?: string
}

/** What Hermes calls it, whose names the contract has. */
const TASK = 'compression'

/**
 * A conversation is made shorter: a request of its own to the model, of which Pi tells when it begins and what came out,
 * but neither what is sent nor with which model.
 */
export class PiCompaction {
  readonly #ids: Ids
  readonly #requestId: string
  readonly #startedAt: number
  #isTold = false

  constructor(ids: Ids, startedAt: number) {
    this.#ids = ids
    this.#startedAt = startedAt
    this.#requestId = `${ids.session_id}:compaction:${startedAt}`
  }

  /** Headers are made for a request: an extension has not done the work. */
  requested(moment: Moment): HookRecord[] {
    if (this.#isTold) return []
    this.#isTold = true
    return [
      hookRecord(
        'pre_auxiliary_call',
        this.#startedAt,
        { ...this.#identity(), ...modelOf(moment.context) },
        'inferred',
      ),
    ]
  }

  /** `session_compact`. Hosts before 0.80 tell nothing of headers; there it is known only now that a request was made. */
  done(moment: Moment): HookRecord[] {
    const { at, context, data } = moment
    const entry = peek(data, 'compactionEntry')
    const begin = booleanOf(peek(data, 'fromExtension')) === true ? [] : this.requested(moment)
    if (!this.#isTold) return []
    const summary = textOf(peek(entry, 'summary'))
    return [
      ...begin,
      hookRecord(
        'post_auxiliary_call',
        at,
        {
          ...this.#identity(),
          ...modelOf(context),
          usage: usageOf(peek(entry, 'usage')),
          cost: peek(peek(entry, 'usage'), 'cost'),
          ...(summary === undefined ? {} : { response: { message: { role: 'assistant', content: summary } } }),
        },
        'inferred',
      ),
    ]
  }

  /** `session_compact_failed`, or nothing more was heard of it. */
  failed({ at, context, data }: Moment): HookRecord[] {
    if (!this.#isTold) return []
    const message = textOf(peek(data, 'errorMessage'))
    const isAborted = booleanOf(peek(data, 'aborted')) === true
    const type = isAborted ? 'aborted' : (failureOf(message).statusCode?.toString() ?? 'compaction_failed')
    return [
      hookRecord(
        'post_auxiliary_call',
        at,
        { ...this.#identity(), ...modelOf(context), error_type: type, error: { type, message } },
        'inferred',
      ),
    ]
  }

  #identity(): Ids & { api_request_id: string; aux_task: string } {
    return { ...this.#ids, api_request_id: this.#requestId, aux_task: TASK }
  }
}
