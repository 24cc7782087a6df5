import { idOf, peek } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'

/** The ids of an event. Hooks have them in the event or the context, agent events in both. */
export interface Facts {
  readonly at: number
  readonly data: unknown
  readonly context: unknown
  readonly runId: string | undefined
  readonly sessionKey: string | undefined
  readonly sessionId: string | undefined
}

/** The name of events from the agent event stream (`api.runtime.events.onAgentEvent`), beside the hooks. */
export const AGENT_EVENT = 'AGENT_EVENT'

export function factsOf({ event, at, data, context }: TimedEvent): Facts {
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
