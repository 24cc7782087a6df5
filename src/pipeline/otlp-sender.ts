import type { Agent } from 'node:http'
import { promisify } from 'node:util'
import { createAgent } from './agent.ts'
import type { Carrier, Delivery } from './delivery.ts'
import { type Attempt, postOnce } from './otlp-request.ts'
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
 * Sends metrics, and traces as `http/protobuf`, to one URL. Traces as `http/json` go by OpenTelemetry's own exporter
 * (`otlp-trace-exporter.ts`). Left to themselves, those exporters merge the headers of `OTEL_EXPORTER_OTLP_HEADERS` into
 * those of every backend, so that one backend's key would reach another one, hold the process with their retry timer,
 * forget the status that they retried, and keep a partial success to themselves. There, all that is set right from
 * outside, by way of the request that the agent sees; here the request is ours from the start. The retries and the
 * reading of answers are the same.
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
    return deliverBy(deadlineAt, signal, timeoutMillis => this.#post(body, timeoutMillis, signal))
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
