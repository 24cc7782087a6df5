/** Reasons for refusing a request, each with its HTTP status. 0 = no sender is left to answer. */
export const REFUSALS = {
  host: 403,
  origin: 403,
  token: 401,
  signature: 401,
  path: 404,
  method: 405,
  size: 413,
  encoding: 415,
  gzip: 400,
  json: 400,
  protobuf: 400,
  request: 400,
  /** The client is newer than this receiver. It spools its event and starts the receiver of its own version. */
  older: 426,
  slow: 408,
  /** Refused spans. Answered with success, because an exporter may show an error to its agent's user. */
  service: 200,
  cutOff: 0,
  rate: 503,
  busy: 503,
  connections: 0,
  spoolFile: 0,
  spoolPlace: 0,
} as const

export type Refusal = keyof typeof REFUSALS

export class RefusedRequest extends Error {
  override readonly name = 'Refused'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal)
    this.refusal = refusal
  }
}

export class ReceiverCounts {
  requests = 0
  deliveries = 0
  spooled = 0
  duplicates = 0
  unreadable = 0
  /** Events that clients dropped: no receiver answered and the spool was full. */
  dropped = 0
  readonly refused: Partial<Record<Refusal, number>> = {}

  countRefusal(refusal: Refusal, count = 1): void {
    this.refused[refusal] = (this.refused[refusal] ?? 0) + count
  }
}
