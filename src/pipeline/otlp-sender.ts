import type { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Delivery, Transport } from './delivery.ts'
import { createAgent, postOnce } from './otlp-request.ts'
import { untraced, zlib } from './sdk.ts'
import type { TlsFiles } from './tls-files.ts'

/** At once, within one delivery, as the OTLP specification has it. What else passes (408) waits in the queue: `back-off.ts`. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])
const CONNECTION_LOST: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])
const FIRST_PAUSE_MILLIS = 500
/** Times the number of tries, whatever sooner moment the server asks for. */
const MIN_PAUSE_MILLIS = 20
const MAX_PAUSE_MILLIS = 5000

export interface OtlpTarget {
  /** Of one signal, complete. */
  readonly url: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly gzip: boolean
  /** One payload with its retries. */
  readonly timeoutMillis: number
  readonly tls: TlsFiles
}

/**
 * Sends metrics, and the lines of the trace log, to one URL. OpenTelemetry's own exporters, left to themselves, merge the
 * headers of `OTEL_EXPORTER_OTLP_HEADERS` into those of every backend, so that one backend's key would reach another one,
 * hold the process with their retry timer, forget the status that they retried, and keep a partial success to themselves.
 * Where there is no log, traces as `http/json` go by one all the same (`otlp-trace-exporter.ts`), with all that set right from
 * outside. The retries and the reading of answers are the same.
 */
export class OtlpSender implements Transport {
  readonly #target: OtlpTarget
  #agent: Agent | undefined

  constructor(target: OtlpTarget) {
    const encoding = target.gzip ? { 'content-encoding': 'gzip' } : {}
    this.#target = { ...target, headers: { ...target.headers, ...encoding } }
  }

  async deliver(payload: readonly Uint8Array[], signal: AbortSignal): Promise<Delivery> {
    const deadlineAt = performance.now() + this.#target.timeoutMillis
    const body = this.#target.gzip ? [await promisify(zlib().gzip)(Buffer.concat(payload))] : payload
    return deliverBy(deadlineAt, signal, timeoutMillis => this.#post(body, timeoutMillis, signal))
  }

  async close(): Promise<void> {
    this.#agent?.destroy()
  }

  #post(payload: readonly Uint8Array[], timeoutMillis: number, signal: AbortSignal): Promise<Delivery> {
    const { url, timeoutMillis: allowedMillis } = this.#target
    const length = payload.reduce((sum, { byteLength }) => sum + byteLength, 0)
    const headers = { ...this.#target.headers, 'content-length': length }
    this.#agent ??= createAgent(url, this.#target.tls)
    const agent = this.#agent
    return untraced(() => postOnce({ url, headers, agent, payload, timeoutMillis, allowedMillis, signal }))
  }
}

/**
 * Tries until it is delivered, until it is no use, or until the time is over. Pauses do not hold the process: that is
 * why the exporter's own retry is not used.
 *
 * @param deadlineAt in the time of `performance.now()`
 * @param attempt is told how long it may take
 */
export async function deliverBy(
  deadlineAt: number,
  signal: AbortSignal,
  attempt: (timeoutMillis: number) => Promise<Delivery>,
): Promise<Delivery> {
  let earlier: Delivery | undefined
  for (let attempts = 1; ; attempts++) {
    const made = await attempt(deadlineAt - performance.now())
    const pauseMillis = pauseBeforeRetry(made, attempts)
    if (pauseMillis === undefined) return withReason(made, earlier)
    if (performance.now() + pauseMillis >= deadlineAt) return made
    await pause(pauseMillis, undefined, { ref: false, signal }).catch(() => undefined)
    if (signal.aborted) return made
    earlier = made
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
function pauseBeforeRetry(delivery: Delivery, attempts: number): number | undefined {
  if (delivery.ok) return undefined
  const { failure, retryAfterMillis } = delivery
  if (failure.kind === 'network') return CONNECTION_LOST.has(failure.code) && attempts === 1 ? 0 : undefined
  if (failure.kind !== 'status' || !RETRYABLE.has(failure.status)) return undefined
  return Math.max(retryAfterMillis ?? backoff(attempts), MIN_PAUSE_MILLIS * attempts)
}

function backoff(attempts: number): number {
  const pauseMillis = Math.min(FIRST_PAUSE_MILLIS * 2 ** (attempts - 1), MAX_PAUSE_MILLIS)
  return pauseMillis * (0.8 + Math.random() * 0.4)
}
