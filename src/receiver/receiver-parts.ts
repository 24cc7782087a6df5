import type { Lock } from '../delivery/trace-log/index.ts'
import type { Clock } from './clock.ts'
import type { Decider, DeciderTrace } from './decider.ts'
import type { Limits } from './limits.ts'
import type { Place } from './place.ts'
import type { Recorder } from './recorder.ts'
import type { RequestJournal } from './request-journal.ts'
import type { Endpoint } from './work-queue.ts'

export interface ReceiverParts {
  readonly place: Place
  readonly token: string
  readonly version: string
  readonly lock: Lock
  readonly recorder: Recorder
  readonly requests: RequestJournal
  readonly endpoints: ReadonlyMap<string, Endpoint>
  readonly limits: Limits
  readonly clock: Clock
  readonly deciderFor?: ((trace: DeciderTrace) => Decider) | undefined
  /** Idle time without open turns after which the receiver exits. Undefined = never. */
  readonly idleMillis: number | undefined
  readonly isAllWanted: boolean
  /** The lines reported to the user so far. `say` appends. */
  readonly lines: readonly string[]
  say(line: string): void
  secretOf(path: string): string | undefined
}
