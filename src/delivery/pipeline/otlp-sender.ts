import type { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Delivery, Transport } from './delivery.ts'
import { createAgent, postOnce } from './otlp-request.ts'
import { untraced, zlib } from './sdk.ts'
import type { TlsFiles } from './tls-files.ts'

/**
 * Retried within one delivery, as the OTLP specification demands. Other temporary statuses (408) are retried by the queue:
 * see `back-off.ts`.
 */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])
const CONNECTION_LOST: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])
const FIRST_PAUSE_MILLIS = 500
/** Multiplied by the number of attempts. Applies even if the server requests a shorter pause. */
const MIN_PAUSE_MILLIS = 20
const MAX_PAUSE_MILLIS = 5000

export interface OtlpTarget {
  /** The complete URL of one signal. */
  readonly url: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly gzip: boolean
  /** Time for one payload, retries included. */
  readonly timeoutMillis: number
  readonly tls: TlsFiles
}

/**
 * Sends metrics, and the lines of the trace log, to one URL. OpenTelemetry's own exporters are not used here, because they:
 * - merge `OTEL_EXPORTER_OTLP_HEADERS` into the headers of every backend, so that one backend's key reaches another;
 * - hold the process with their retry timer;
 * - do not report the status that they retried;
 * - do not report a partial success.
 *
 * Without a log, traces as `http/json` use such an exporter nevertheless (`otlp-trace-exporter.ts`), which corrects all of
 * that from outside. Retries and the reading of responses are shared.
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
 * Retries until the payload is delivered, cannot be delivered, or the deadline has passed. Pauses do not hold the process:
 * that is why the exporter's own retry is not used.
 *
 * @param deadlineAt in the time of `performance.now()`
 * @param attempt receives the time it may take
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

/** If the last attempt timed out, the earlier response of the server is more useful to the user. */
function withReason(last: Delivery, earlier: Delivery | undefined): Delivery {
  return earlier && !last.ok && last.failure.kind === 'timeout' ? earlier : last
}

/**
 * Returns undefined if there is no retry. A lost connection is retried once, immediately: a server may close a kept
 * connection at the moment of reuse. A refused connection is not retried: a user who is starting the backend needs the
 * message now.
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
