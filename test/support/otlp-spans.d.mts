export type AttributeValue =
  | string
  | number
  | boolean
  | undefined
  | readonly AttributeValue[]
  | { readonly [key: string]: AttributeValue }

export interface ReceivedEvent {
  readonly name: string
  readonly timeUnixNano: string
  readonly attributes: Readonly<Record<string, AttributeValue>>
}

/** A span as it came over the wire, whichever protocol carried it. Times are decimal nanoseconds. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: number
  readonly flags: number
  readonly status: { readonly code: number; readonly message: string | undefined }
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: Readonly<Record<string, AttributeValue>>
  readonly events: readonly ReceivedEvent[]
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly resource: Readonly<Record<string, AttributeValue>>
  readonly scope: string
}

/** The spans of an OTLP trace request, JSON or protobuf, in one shape: who compares need not know how they came. */
export function spansOfRequest(body: Buffer, isJson: boolean): ReceivedSpan[]

/** The same of a request that is parsed already, such as a line of a trace log. */
export function spansOfJson(request: { readonly resourceSpans?: readonly object[] }): ReceivedSpan[]
