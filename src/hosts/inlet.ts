import type { Place } from './base/own-file.ts'
import type { HostEvent } from './host-event.ts'

/** One request, or one file of the spool, for one agent. */
export interface Delivery {
  /** Parsed JSON. */
  readonly body: unknown
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** When the hook fired, epoch milliseconds: as the sender says, else when it came. */
  readonly at: number
  readonly id?: string | undefined
}

/** One span of what an agent records of itself and sends by OTLP: the body of a delivery. All of it is as the agent says. */
export interface TelemetrySpan {
  readonly spanId: string | undefined
  readonly parentSpanId: string | undefined
  /** As OTLP numbers them: 3 = client. */
  readonly kind: number | undefined
  /** Epoch milliseconds. */
  readonly startAt: number | undefined
  readonly endAt: number | undefined
  /** 2 = error. */
  readonly statusCode: number | undefined
  /** By their names: texts, numbers, booleans and lists of these. */
  readonly attributes: Readonly<Record<string, unknown>>
}

/** How what an agent sends becomes events of its machine. */
export interface Inlet {
  /** Throws nothing; what says nothing is no event. */
  events(delivery: Delivery): readonly HostEvent[]
  /** What the agent says elsewhere, as in files of its own, and its hooks do not. Bounded; never rejects. Called in order, behind `events`. */
  more?(event: HostEvent): Promise<readonly HostEvent[]>
  /**
   * Hooks that the agent fired and the receiver never received, as far as the agent's own files show. Counted since this process
   * began; `hookspan serve --status` reports it.
   */
  readonly lostHooks?: number
}

/** What an inlet that reads files of its agent needs of the world. */
export interface World {
  readonly place: Place
  /** @param millis as long as that; in tests, what has to happen meanwhile */
  wait(millis: number): Promise<unknown>
}
