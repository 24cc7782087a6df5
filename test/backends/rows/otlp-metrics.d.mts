export interface ReceivedMetric {
  readonly name: string
  readonly kind: 'gauge' | 'sum' | 'histogram'
  /** A gauge has none. */
  readonly temporality: 'unspecified' | 'delta' | 'cumulative' | undefined
  readonly points: number
}

/** The metrics of an OTLP request, JSON or protobuf, in one shape. */
export function metricsOfRequest(body: Buffer, isJson: boolean): ReceivedMetric[]
