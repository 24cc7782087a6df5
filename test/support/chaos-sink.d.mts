import type { IncomingHttpHeaders } from 'node:http'
import type { ReceivedSpan } from './otlp-spans.d.mts'

/** How the sink treats a request. */
export type ChaosBehaviour =
  | { readonly kind: 'ok' }
  /** Answers late, as `answer` says (default ok); what it accepts it has accepted before. */
  | { readonly kind: 'slow'; readonly millis: number; readonly answer?: ChaosBehaviour }
  /** Nothing listens: connections are refused. */
  | { readonly kind: 'down' }
  /** Takes the request and never answers. */
  | { readonly kind: 'hanging' }
  /** Closes the connection, before or after it has read the request. Nothing is accepted. */
  | { readonly kind: 'reset'; readonly when: 'before' | 'after' }
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      /** As a header `retry-after`: seconds, or a date so far ahead. */
      readonly retryAfter?: { readonly seconds: number } | { readonly dateInMillis: number }
    }
  /** Another one for each request, by chance; `share` is its weight. */
  | {
      readonly kind: 'flapping'
      readonly seed: number
      readonly mix: readonly { readonly share: number; readonly behaviour: ChaosBehaviour }[]
    }
  /** One for each request, in order; the last one stays. */
  | { readonly kind: 'sequence'; readonly of: readonly ChaosBehaviour[] }
  /** A partial success: the last `rejected` spans of each request are not accepted. */
  | { readonly kind: 'partial'; readonly rejected: number }
  /** 400 for every request that holds a span of this name. */
  | { readonly kind: 'poison'; readonly name: string; readonly status?: number }
  /** 413 above so many bytes on the wire. */
  | { readonly kind: 'limit'; readonly bytes: number }
  /** 401 without this header; its name in lower case. */
  | { readonly kind: 'token'; readonly header: string; readonly value: string }
  /** 404 anywhere else. */
  | { readonly kind: 'path'; readonly path: string }
  /** 415 for JSON. */
  | { readonly kind: 'protobuf only' }

export interface ChaosStep {
  readonly forMillis: number
  readonly behaviour: ChaosBehaviour
}

export interface ChaosRequest {
  readonly ordinal: number
  /** Epoch milliseconds, as all times here. */
  readonly at: number
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** On the wire. */
  readonly bytes: number
  readonly spans: number
  /** Of all the spans in it, accepted or not. */
  readonly spanIds: readonly string[]
  /** Status, or why there is none. `unheard`: the client had gone before the answer. */
  readonly answer: number | 'unread' | 'aborted' | 'hanging' | 'reset' | 'unheard'
  /** When the answer was sent. */
  readonly answeredAt?: number
  /** The moment that its `retry-after` names. */
  readonly retryAt?: number
}

export interface AcceptedSpan extends ReceivedSpan {
  /** Ordinal of its request. */
  readonly request: number
  readonly acceptedAt: number
}

export interface ChaosOptions {
  /** 0 = any that is free. */
  readonly port?: number
  /** `deliveries`: only ids are kept and counted, so that hours of load fit into memory. */
  readonly keeps?: 'spans' | 'deliveries'
}

/**
 * A real OTLP receiver on the loopback interface that can suffer anything that collectors suffer, on the same port all
 * the time. JSON and protobuf, gzip.
 */
export class ChaosSink {
  static start(behaviour?: ChaosBehaviour, options?: ChaosOptions): Promise<ChaosSink>
  /** For the requests that come after. Anything but `down` makes it listen again. */
  behaviour: ChaosBehaviour
  readonly requests: readonly ChaosRequest[]
  /** In order. */
  readonly accepted: readonly AcceptedSpan[]
  /** Span id → how many times it was accepted. */
  readonly deliveries: ReadonlyMap<string, number>
  readonly counts: ChaosCounts
  /** Without a slash at its end. */
  readonly url: string
  /** Closes every connection and refuses new ones, at once. */
  goDown(): void
  /** Resolves when it listens again, on the same port. */
  comeBack(): Promise<void>
  /** Takes on each behaviour for its time; the last one stays. */
  play(steps: readonly ChaosStep[]): void
  /** Resolves once `is` holds; rejects after `millis` with what came instead. */
  until(is: () => boolean, what?: string, millis?: number): Promise<void>
  stop(): Promise<void>
}

export interface ChaosCounts {
  readonly requests: number
  /** Accepted, each counted once. */
  readonly spans: number
  readonly bytes: number
}

/** A timetable of what a collector can suffer, the same for the same seed. It ends well. */
export function chaosSchedule(seed: number, totalMillis: number): ChaosStep[]
