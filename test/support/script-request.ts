import type { RequestScript } from './agent-script.ts'
import type { ExpectedSpan } from './expected-span.ts'
import type { TurnTelling } from './script-turn.ts'
import { type Used, usageFacts, usageFields } from './script-usage.ts'

/** Tells the attempts of one request, and draws what must come of them. */
export class RequestTelling {
  /** Of which anything was told. */
  attempts = 0
  readonly #turn: TurnTelling
  readonly #script: RequestScript
  readonly #id: string
  readonly #call: number
  #span: ExpectedSpan

  constructor(turn: TurnTelling, script: RequestScript, id: string, call: number) {
    this.#turn = turn
    this.#script = script
    this.#id = id
    this.#call = call
    this.#span = turn.llm
  }

  fail(attempt: number): void {
    this.#start(attempt)
    if (this.#script.starts === 'only answers') return
    const { lane, fed, open } = this.#turn
    if (!this.#isStarted(attempt)) this.#draw(attempt)
    lane.emit('api_request_error', { ...this.#payload(attempt), error: { type: 'RateLimit' }, retryable: true })
    this.#span.facts['status'] = 'ERROR'
    open.delete(this.#span)
    fed.apiErrors += 1
  }

  /** The last attempt: what it used, unless nobody answers. What it gives back is the parent of the tools. */
  answer(used: Used | undefined): ExpectedSpan {
    const { lane, llm, open, followed, beside } = this.#turn
    const attempt = this.#script.failures
    this.#start(attempt)
    if (used === undefined) return this.#span
    const { saysDuration } = this.#script
    const isStarted = this.#isStarted(attempt)
    if (!isStarted && open.delete(this.#span)) followed.add(this.#span)
    if (!isStarted && saysDuration) this.#draw(attempt)
    lane.emit('post_api_request', { ...this.#payload(attempt), usage: usageFields(used) })
    if (isStarted || saysDuration) {
      Object.assign(this.#span.facts, { status: 'OK' }, usageFacts(used))
      open.delete(this.#span)
      return this.#span
    }
    this.attempts += 1
    beside.undrawn += 1
    return llm
  }

  #start(attempt: number): void {
    if (!this.#isStarted(attempt)) return
    this.#turn.lane.emit('pre_api_request', this.#payload(attempt))
    this.#draw(attempt)
    this.#turn.open.add(this.#span)
  }

  #draw(attempt: number): void {
    this.attempts += 1
    this.#span = this.#turn.below(this.#turn.llm, 'api.m', { call: this.#call, attempt })
  }

  #isStarted(attempt: number): boolean {
    return attempt === 0 || this.#script.starts === 'each'
  }

  #payload(attempt: number): object {
    const said = this.#retryCount === 'absent' ? {} : { retry_count: this.#retryCount === 'told' ? attempt : 0 }
    const duration = this.#script.saysDuration ? { api_duration: 0.005 } : {}
    const ids = { ...this.#turn.ids, api_request_id: this.#id, api_call_count: this.#call }
    return { ...ids, model: 'm', provider: 'p', ...said, ...duration }
  }

  /** Attempts without a start or a time of their own have nothing but their number. */
  get #retryCount(): RequestScript['retryCount'] {
    const { retryCount, starts, failures } = this.#script
    const isNeeded = this.#turn.lane.standsStill || starts === 'only answers' || (starts === 'first' && failures > 1)
    return isNeeded ? 'told' : retryCount
  }
}
