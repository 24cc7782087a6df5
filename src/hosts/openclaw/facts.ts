import { idOf, numberOf, peek } from '../../contract/foreign.ts'
import type { HostEvent } from '../host-event.ts'

/** What an event says about where it belongs; hooks say it in the event or in their context, agent events in both. */
export interface Facts {
  /** Epoch milliseconds. */
  readonly at: number
  readonly data: unknown
  readonly context: unknown
  readonly runId: string | undefined
  readonly sessionKey: string | undefined
  readonly sessionId: string | undefined
}

/** The event that carries the agent event stream (`api.runtime.events.onAgentEvent`) beside the hooks. */
export const AGENT_EVENT = 'AGENT_EVENT'

/** A host's own time of something that is over may be this much before we hear of it. */
const OLDEST_MILLIS = 24 * 3_600_000

/** @param at when it happened, where the event itself does not say */
export function factsOf({ event, data, context }: HostEvent, at: number): Facts {
  const id = (key: string): string | undefined => idOf(peek(data, key)) ?? idOf(peek(context, key))
  return {
    at,
    data: event === AGENT_EVENT ? peek(data, 'data') : data,
    context,
    runId: id('runId'),
    sessionKey: id('sessionKey'),
    sessionId: id('sessionId'),
  }
}

/** A time that the host says itself, where it is believable: neither after the event nor long before it. */
export function saidAt(said: unknown, at: number): number {
  const time = numberOf(said)
  return time !== undefined && time <= at && time > at - OLDEST_MILLIS ? time : at
}
