import type { HookReply } from '../agents/guard-protocol.ts'
import type { SpanIds } from '../plugin/plugin.ts'
import type { InternalEvent } from './work-queue.ts'

/** How to decide if hooks cannot be asked. The client sends it, because no receiver may be running to ask. */
export type Failing = 'open' | 'closed'

/** A request of an agent for a decision. */
export interface Asked {
  readonly host: string
  /** The host name in the agent's records, if it differs from `host`. Empty if each record names its own. */
  readonly told?: string
  /** The queue lane for the records of a decision: they follow the event that it is about. */
  readonly lane: string
  readonly body: unknown
  readonly failing: Failing | undefined
}

export interface Decider {
  /** Undefined if there is no decision. Never rejects. Resolves within a second. */
  decide(asked: Asked): Promise<HookReply | undefined> | undefined
}

export interface DeciderTrace {
  remark(remark: InternalEvent): void
  traceparent(host: string, ids: SpanIds): string | undefined
}
