import type { Reply } from '../hosts/guarding.ts'
import type { SpanIds } from '../wiring/plugin.ts'
import type { Remark } from './work-queue.ts'

/** What the person has said shall be where hooks cannot be asked: who asks says it, because nobody may be there to be asked. */
export type Failing = 'open' | 'closed'

/** Of what an agent asks. */
export interface Asked {
  readonly host: string
  /** As its events are recorded, where that is another name: empty where each of these names it. */
  readonly told?: string
  /** Where what the hooks have decided is told: behind what they were asked about. */
  readonly lane: string
  readonly body: unknown
  /** Undefined: it waits for no answer. */
  readonly failing: Failing | undefined
}

/** Has hooks decide about what agents are about to do. */
export interface Decider {
  /** Undefined: there is nothing to say. Never rejects; resolves within a second. */
  decide(asked: Asked): Promise<Reply | undefined> | undefined
}

/** What it needs of the trace. */
export interface DeciderTrace {
  /** Takes what the hooks have decided. */
  remark(remark: Remark): void
  traceparent(host: string, ids: SpanIds): string | undefined
}
