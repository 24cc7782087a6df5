import type { Endpoint } from './work-queue.ts'

/** Why a request was not taken, and what it is answered. 0 = there was nobody left to answer. */
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
  /** Its sender is newer than we are: it lays its event by, and starts the receiver that it knows. */
  older: 426,
  slow: 408,
  /** Spans that are not taken; what an exporter is told otherwise it may show to whoever works with its agent. */
  service: 200,
  cutOff: 0,
  rate: 503,
  busy: 503,
  connections: 0,
  spoolFile: 0,
  spoolPlace: 0,
} as const

export type Refusal = keyof typeof REFUSALS

/** A request, or a file, that is not taken. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly why: Refusal

  constructor(why: Refusal) {
    super(why)
    this.why = why
  }
}

/** What came, and what became of it. */
export class Counts {
  requests = 0
  /** Deliveries that were taken, by request or from the spool. */
  deliveries = 0
  /** Of these, from the spool. */
  spooled = 0
  duplicates = 0
  /** Deliveries that their inlet could not read. */
  unreadable = 0
  /** Events for which clients found neither a receiver nor room in the spool. */
  dropped = 0
  readonly #refused = new Map<Refusal, number>()

  refuse(why: Refusal, count = 1): void {
    this.#refused.set(why, (this.#refused.get(why) ?? 0) + count)
  }

  /** Those that are not zero come with a name. */
  get refused(): Readonly<Partial<Record<Refusal, number>>> {
    return Object.fromEntries(this.#refused)
  }

  toJSON(): object {
    const { requests, deliveries, spooled, duplicates, unreadable, dropped, refused } = this
    return { requests, deliveries, spooled, duplicates, unreadable, dropped, refused }
  }
}

/** Sums `Inlet.lostHooks` by agent; an agent that lost none is left out. */
export function lostHooksByAgent(endpoints: Iterable<Endpoint>): Readonly<Record<string, number>> {
  const lost: Record<string, number> = {}
  for (const { host, inlet } of endpoints) {
    const { lostHooks = 0 } = inlet
    if (lostHooks > 0) lost[host] = (lost[host] ?? 0) + lostHooks
  }
  return lost
}
