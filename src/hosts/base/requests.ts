import type { Correlation, HookName } from '../../contract/index.ts'
import type { LoosePayload } from '../host-event.ts'
import type { Scope } from './records.ts'

type StartFacts = LoosePayload<'pre_auxiliary_call'>
type EndFacts = LoosePayload<'post_auxiliary_call'>
type FailureFacts = LoosePayload<'api_request_error'> & { readonly error_type?: unknown }

/** What tells one attempt from all others. */
export interface Numbers {
  readonly id: string
  /** Of the request in its turn, from 1. */
  readonly ordinal?: number
  /** Attempts of the same request before this one. */
  readonly retry?: number
  /** Its job, where it is a side call: `compression`, `title`, … */
  readonly task?: string | undefined
}

/** One attempt at a model request, or a side call of the agent. Times are epoch milliseconds. */
export class ModelRequest {
  readonly scope: Scope
  readonly id: string
  readonly ordinal: number | undefined
  readonly retry: number | undefined
  readonly task: string | undefined
  readonly startAt: number
  /** When the answer began. */
  firstChunkAt: number | undefined
  /** Its start is told. */
  isTold = false

  constructor(scope: Scope, startAt: number, { id, ordinal, retry, task }: Numbers) {
    this.scope = scope
    this.startAt = startAt
    this.id = id
    this.ordinal = ordinal
    this.retry = retry
    this.task = task
  }

  /** Once, however often it is called. @param facts an object that is made for this call, as those of the others */
  tellStart(facts: StartFacts, correlation?: Correlation): void {
    if (this.isTold) return
    this.isTold = true
    ;(facts as { api_call_count?: number | undefined }).api_call_count = this.ordinal
    this.#tell(this.task === undefined ? 'pre_api_request' : 'pre_auxiliary_call', this.startAt, facts, correlation)
  }

  tellAnswer(at: number, facts: EndFacts, correlation?: Correlation): void {
    const { firstChunkAt } = this
    // Seconds.
    if (firstChunkAt !== undefined) (facts as { first_chunk_at?: number }).first_chunk_at = firstChunkAt / 1000
    this.#tell(this.task === undefined ? 'post_api_request' : 'post_auxiliary_call', at, facts, correlation)
  }

  tellFailure(at: number, facts: FailureFacts, correlation?: Correlation): void {
    this.#tell(this.task === undefined ? 'api_request_error' : 'post_auxiliary_call', at, facts, correlation)
  }

  #tell(hook: HookName, at: number, facts: object, correlation: Correlation | undefined): void {
    const whole = facts as { api_request_id?: string; retry_count?: number | undefined; aux_task?: string }
    whole.api_request_id = this.id
    whole.retry_count = this.retry
    if (this.task !== undefined) whole.aux_task = this.task
    this.scope.tell(hook, at, facts, correlation)
  }
}

/** The numbers of a turn's requests. No agent says all of them, and some use one twice. */
export class Requests {
  readonly #turn: Scope
  /** Requests so far; of agents whose attempts have ids of their own: attempts. */
  count = 0
  /** Attempts of the request at hand that have failed, one after the other: the machine knows what was a failure. */
  failures = 0

  constructor(turn: Scope) {
    this.#turn = turn
  }

  /** The last one's. */
  get lastId(): string | undefined {
    return this.count === 0 ? undefined : this.#id()
  }

  next(startAt: number, how?: Parameters<Requests['numbers']>[0]): ModelRequest {
    return new ModelRequest(this.#turn, startAt, this.numbers(how))
  }

  /**
   * Of the next attempt: the same request again after a failure, else one of its own.
   *
   * @param how.isRetry where the machine knows better
   * @param how.keepsId whether a retry goes by the id of its request; without, each attempt has one of its own
   */
  numbers(how: { isRetry?: boolean; keepsId?: boolean; task?: string | undefined } = {}): Numbers {
    const { isRetry = this.failures > 0, keepsId = true, task } = how
    if (!isRetry) this.failures = 0
    if (!isRetry || !keepsId) this.count += 1
    return { id: this.#id(), ordinal: this.count, retry: this.failures, task }
  }

  #id(): string {
    return `${this.#turn.turnId}:${this.count}`
  }
}
