import type { SpanLine } from '../trace-log/index.ts'

/** Why something could not be delivered, before it is put in words. Never carries a header or a credential. */
export type DeliveryFailure =
  | { readonly kind: 'status'; readonly status: number; readonly location?: string }
  /** A web page answered with a status that says success: the URL is that of a user interface. */
  | { readonly kind: 'page'; readonly status: number }
  /** No answer was had: `code` is a system, TLS or parser code. */
  | { readonly kind: 'network'; readonly code: string }
  | { readonly kind: 'timeout'; readonly afterMillis: number }
  | { readonly kind: 'file'; readonly code: string; readonly path: string }
  /** Taken by the backend, except for some of it. */
  | { readonly kind: 'rejected' }
  /** A single span that the backend does not take, although it takes others. */
  | { readonly kind: 'refused'; readonly status: number }
  /** Not sent: a header holds something that no header may. */
  | { readonly kind: 'header'; readonly code: string }
  /** Of our own making. */
  | { readonly kind: 'internal'; readonly reason: string }

export type Delivery =
  | { readonly ok: true; readonly answer?: Uint8Array }
  | {
      readonly ok: false
      readonly failure: DeliveryFailure
      /** What the server asked for: not to be asked again before. */
      readonly retryAfterMillis?: number
    }

/** Takes serialised telemetry somewhere: over HTTP or into a file. */
export interface Transport {
  /** One payload, in pieces. Never rejects. Resolves soon after `signal` aborts. */
  deliver(payload: readonly Uint8Array[], signal: AbortSignal): Promise<Delivery>
  /** Frees what is held; what is under way is cut off. */
  close(): Promise<void>
}

export interface SpanDelivery {
  /** Spans, or log events, that did not arrive. */
  readonly lost: number
  readonly failure?: DeliveryFailure
  readonly retryAfterMillis?: number
}

/** Where the spans of one backend go. */
export interface SpanSink {
  /** The spans of these lines, in one request. Never rejects. Resolves soon after `signal` aborts. */
  export(lines: readonly SpanLine[], signal: AbortSignal): Promise<SpanDelivery>
  close(): Promise<void>
}
