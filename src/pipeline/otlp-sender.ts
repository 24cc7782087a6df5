import type { Agent, OutgoingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createAgent } from './agent.ts'
import type { Carrier, Delivery } from './delivery.ts'
import { type Attempt, postOnce } from './otlp-request.ts'
import { untraced, zlib } from './sdk.ts'

const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])
const CONNECTION_LOST: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])
const FIRST_PAUSE_MILLIS = 500
/** Times the number of tries, whatever sooner moment the server asks for. */
const MIN_PAUSE_MILLIS = 20
const MAX_PAUSE_MILLIS = 5000

export interface OtlpTarget {
  /** Of one signal, complete. */
  readonly url: string
  readonly headers: OutgoingHttpHeaders
  readonly gzip: boolean
  /** One payload with its retries. */
  readonly timeoutMillis: number
  readonly certificate: Buffer | undefined
}

/**
 * Sends to one URL. This takes the place of the exporters' own transport, which merges the headers of
 * `OTEL_EXPORTER_OTLP_HEADERS` into those of every backend, so that one backend's key would reach another one, holds
 * the process with its retry timer, forgets the status that it retried, and keeps a partial success to itself.
 */
export class OtlpSender implements Carrier {
  readonly #target: OtlpTarget
  readonly #agent: Agent

  constructor(target: OtlpTarget) {
    const encoding = target.gzip ? { 'content-encoding': 'gzip' } : {}
    this.#target = { ...target, headers: { ...target.headers, ...encoding } }
    this.#agent = createAgent(target.url, target.certificate)
  }

  async deliver(payload: Uint8Array, signal: AbortSignal): Promise<Delivery> {
    const deadlineAt = performance.now() + this.#target.timeoutMillis
    const body = this.#target.gzip ? await promisify(zlib().gzip)(payload) : payload
    let earlier: Delivery | undefined
    for (let attempts = 1; ; attempts++) {
      const attempt = await this.#post(body, deadlineAt - performance.now(), signal)
      const pauseMillis = pauseBeforeRetry(attempt, attempts)
      if (pauseMillis === undefined) return withReason(attempt.delivery, earlier)
      if (performance.now() + pauseMillis >= deadlineAt) return attempt.delivery
      await pause(pauseMillis, undefined, { ref: false, signal }).catch(() => undefined)
      if (signal.aborted) return attempt.delivery
      earlier = attempt.delivery
    }
  }

  async close(): Promise<void> {
    this.#agent.destroy()
  }

  #post(payload: Uint8Array, timeoutMillis: number, signal: AbortSignal): Promise<Attempt> {
    const { url, timeoutMillis: allowedMillis } = this.#target
    const headers = { ...this.#target.headers, 'content-length': payload.byteLength }
    return untraced(() => postOnce({ url, headers, agent: this.#agent, payload, timeoutMillis, allowedMillis, signal }))
  }
}

/** What the server said last is more to the point than that our time was over. */
function withReason(last: Delivery, earlier: Delivery | undefined): Delivery {
  return earlier && !last.ok && last.failure.kind === 'timeout' ? earlier : last
}

/**
 * Undefined = do not retry. A connection that was lost is tried again once, at once: a server may close a kept one in
 * the very moment that we use it. A refused connection is not: who starts the backend wants to read about it now.
 */
function pauseBeforeRetry(attempt: Attempt, attempts: number): number | undefined {
  if (attempt.delivery.ok) return undefined
  const { failure } = attempt.delivery
  if (failure.kind === 'network') return CONNECTION_LOST.has(failure.code) && attempts === 1 ? 0 : undefined
  if (failure.kind !== 'status' || !RETRYABLE.has(failure.status)) return undefined
  return Math.max(attempt.retryAfterMillis ?? backoff(attempts), MIN_PAUSE_MILLIS * attempts)
}

function backoff(attempts: number): number {
  const pauseMillis = Math.min(FIRST_PAUSE_MILLIS * 2 ** (attempts - 1), MAX_PAUSE_MILLIS)
  return pauseMillis * (0.8 + Math.random() * 0.4)
}
