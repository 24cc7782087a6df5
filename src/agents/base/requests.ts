import { numberOf, peek } from '../../contract/foreign.ts'
import type { Correlation, HookName } from '../../contract/index.ts'
import type { LoosePayload } from '../host-event.ts'
import type { RecordScope } from './records.ts'

type FailureFacts = LoosePayload<'api_request_error'> & { readonly error_type?: unknown }
/** Set on the facts one by one, which is cheaper than a copy. */
type Numbers = Partial<
  Record<'api_request_id' | 'retry_count' | 'api_call_count' | 'first_chunk_at' | 'aux_task', unknown>
>

export interface RequestNumbers {
  readonly id: string
  readonly ordinal?: number
  readonly retry?: number
  /** Purpose of an auxiliary call: `compression`, `title`, … */
  readonly task?: string | undefined
}

/** One attempt at a model request, or an auxiliary call of the agent. Times are epoch milliseconds. */
export class ModelRequest {
  readonly scope: RecordScope
  readonly id: string
  readonly ordinal: number | undefined
  readonly retry: number | undefined
  readonly task: string | undefined
  readonly startAt: number
  firstChunkAt: number | undefined
  isStartEmitted = false

  constructor(scope: RecordScope, startAt: number, { id, ordinal, retry, task }: RequestNumbers) {
    this.scope = scope
    this.startAt = startAt
    this.id = id
    this.ordinal = ordinal
    this.retry = retry
    this.task = task
  }

  /** Emits the start once; later calls do nothing. @param facts a new object, which is modified; so do the other methods */
  emitStart(facts: LoosePayload<'pre_auxiliary_call'>, correlation?: Correlation): void {
    if (this.isStartEmitted) return
    this.isStartEmitted = true
    const hook = this.task === undefined ? 'pre_api_request' : 'pre_auxiliary_call'
    ;(facts as Numbers).api_call_count = this.ordinal
    this.#emit(hook, this.startAt, facts, correlation)
  }

  emitAnswer(at: number, facts: LoosePayload<'post_auxiliary_call'>, correlation?: Correlation): void {
    // Seconds, as in the contract.
    if (this.firstChunkAt !== undefined) (facts as Numbers).first_chunk_at = this.firstChunkAt / 1000
    this.#emit(this.task === undefined ? 'post_api_request' : 'post_auxiliary_call', at, facts, correlation)
  }

  emitFailure(at: number, facts: FailureFacts, correlation?: Correlation): void {
    this.#emit(this.task === undefined ? 'api_request_error' : 'post_auxiliary_call', at, facts, correlation)
  }

  #emit(hook: HookName, at: number, facts: Numbers, correlation: Correlation | undefined): void {
    facts.api_request_id = this.id
    facts.retry_count = this.retry
    if (this.task !== undefined) facts.aux_task = this.task
    this.scope.emit(hook, at, facts, correlation)
  }
}

/** Clamps the reported start of a request: it is sent after its loop began, or that loop's compaction, and before its answer. */
export function sentAt(data: unknown, floor: number, endAt: number): number {
  return Math.min(endAt, Math.max(floor, numberOf(peek(data, 'started_at')) ?? endAt))
}

/** Numbers the requests of a turn. No agent reports all of these numbers, and some report a number twice. */
export class RequestCounter {
  readonly #turn: RecordScope
  /** Requests so far; attempts if each has its own id. `failures`: consecutive failed attempts, as the machine counts them. */
  count = 0
  failures = 0

  constructor(turn: RecordScope) {
    this.#turn = turn
  }

  get lastId(): string | undefined {
    return this.count === 0 ? undefined : this.#id()
  }

  nextRequest(startAt: number, how?: Parameters<RequestCounter['nextNumbers']>[0]): ModelRequest {
    return new ModelRequest(this.#turn, startAt, this.nextNumbers(how))
  }

  /**
   * Numbers the next attempt: the same request after a failure, otherwise a new one.
   *
   * @param how.isRetry overrides the default
   * @param how.keepsId if false, each attempt has its own id instead of the request's
   */
  nextNumbers(how: { isRetry?: boolean; keepsId?: boolean; task?: string | undefined } = {}): RequestNumbers {
    const { isRetry = this.failures > 0, keepsId = true, task } = how
    if (!isRetry) this.failures = 0
    if (!isRetry || !keepsId) this.count += 1
    return { id: this.#id(), ordinal: this.count, retry: this.failures, task }
  }

  #id(): string {
    return `${this.#turn.turnId}:${this.count}`
  }
}
