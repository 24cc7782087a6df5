import type { SpanLine } from '../trace-log/index.ts'

export type Signal = 'traces' | 'metrics' | 'logs'

/** The cause of a failed delivery, before it is put in words. Never contains a header or a credential. */
export type DeliveryFailure =
  /** `grpc`: the name of the status of gRPC, of which `status` is the equivalent in HTTP. */
  | { readonly kind: 'status'; readonly status: number; readonly grpc?: string; readonly location?: string | undefined }
  /** A web page with a success status: the URL is that of a user interface. */
  | { readonly kind: 'page'; readonly status: number }
  /** There was no response. `code` is a system, TLS or parser code. */
  | { readonly kind: 'network'; readonly code: string }
  | { readonly kind: 'timeout'; readonly afterMillis: number }
  | { readonly kind: 'file'; readonly code: string; readonly path: string }
  | { readonly kind: 'rejected' }
  /** A single span that the backend refuses although it accepts others. */
  | { readonly kind: 'refused'; readonly status: number; readonly grpc?: string }
  /** Not sent: a header contains invalid characters, or the program of `headers_command` failed. */
  | { readonly kind: 'header'; readonly code: string }
  | { readonly kind: 'command'; readonly reason: string }
  | { readonly kind: 'internal'; readonly reason: string }

/** The code of a system error, TLS error or parser error. Never its message, which may contain a credential. */
export function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'unknown'
}

export const NOT_HTTP2 = 'ERR_HTTP2_ERROR'

export type TransportResult =
  | { readonly ok: true; readonly answer?: Uint8Array }
  | { readonly ok: false; readonly failure: DeliveryFailure; readonly retryAfterMillis?: number | undefined }

export interface Transport {
  /** Delivers one payload, given in pieces. Never rejects. Resolves soon after `signal` aborts. */
  deliver(payload: readonly Uint8Array[], signal: AbortSignal): Promise<TransportResult>
  close(): Promise<void>
}

export interface ExportResult {
  readonly lost: number
  readonly failure?: DeliveryFailure
  readonly retryAfterMillis?: number | undefined
}

export interface SpanSink {
  /** Sends the spans of these lines in one request. Never rejects. Resolves soon after `signal` aborts. */
  export(lines: readonly SpanLine[], signal: AbortSignal): Promise<ExportResult>
  /** Encodes a line that will be exported, while another request is in flight. */
  prepare?(line: SpanLine): void
  close(): Promise<void>
}
