import type { AgentFolders } from './base/agent-file.ts'
import type { HostEvent } from './host-event.ts'

/**
 * One request, or one spool file, from one agent. `at`: when the hook fired (epoch milliseconds), according to the sender;
 * otherwise the time of receipt.
 */
export interface HookDelivery {
  readonly body: unknown
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly at: number
  readonly id?: string | undefined
}

/**
 * One span of an agent's own telemetry, received by OTLP as the body of a delivery. All values are unchecked. Times are epoch
 * milliseconds; `kind` 3 = client, `statusCode` 2 = error.
 */
export interface TelemetrySpan {
  readonly spanId: string | undefined
  readonly parentSpanId: string | undefined
  readonly kind: number | undefined
  readonly startAt: number | undefined
  readonly endAt: number | undefined
  readonly statusCode: number | undefined
  readonly attributes: Readonly<Record<string, unknown>>
}

export interface ReceiverAdapter {
  /** Never throws. Returns an empty list for a delivery without information. */
  events(delivery: HookDelivery): readonly HostEvent[]
  /**
   * Reads what the agent records elsewhere, for example in its own files, and its hooks lack. Bounded; never rejects. Called in
   * order, after `events`.
   */
  enrich?(event: HostEvent): Promise<readonly HostEvent[]>
  /**
   * Hooks that the agent fired and the receiver never received, as far as the agent's own files show. Counted since this process
   * began; `hookspan serve --status` reports it.
   */
  readonly lostHooks?: number
}

export interface AdapterEnvironment {
  readonly place: AgentFolders
  /** @param millis the duration; tests do the awaited work meanwhile @param signal ends the wait early */
  wait(millis: number, signal?: AbortSignal): Promise<unknown>
}
