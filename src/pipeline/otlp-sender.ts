import type { Agent } from 'node:http'
import { promisify } from 'node:util'
import { createAgent } from './agent.ts'
import type { Carrier, Delivery } from './delivery.ts'
import { postOnce } from './otlp-request.ts'
import { deliverBy } from './otlp-retry.ts'
import { untraced, zlib } from './sdk.ts'

export interface OtlpTarget {
  /** Of one signal, complete. */
  readonly url: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly gzip: boolean
  /** One payload with its retries. */
  readonly timeoutMillis: number
  readonly certificate: Buffer | undefined
}

/**
 * Sends metrics, and the lines of the trace log, to one URL. OpenTelemetry's own exporters, left to themselves, merge the
 * headers of `OTEL_EXPORTER_OTLP_HEADERS` into those of every backend, so that one backend's key would reach another one,
 * hold the process with their retry timer, forget the status that they retried, and keep a partial success to themselves.
 * Where there is no log, traces as `http/json` go by one all the same (`otlp-trace-exporter.ts`), with all that set right from
 * outside. The retries and the reading of answers are the same.
 */
export class OtlpSender implements Carrier {
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
    this.#agent ??= createAgent(url, this.#target.certificate)
    const agent = this.#agent
    return untraced(() => postOnce({ url, headers, agent, payload, timeoutMillis, allowedMillis, signal }))
  }
}
