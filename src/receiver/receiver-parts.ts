import type { Lock } from '../trace-log/index.ts'
import type { Clock } from './clock.ts'
import type { Decider, DeciderTrace } from './decider.ts'
import type { Limits } from './limits.ts'
import type { Place } from './place.ts'
import type { Recorder } from './recorder.ts'
import type { RequestJournal } from './request-journal.ts'
import type { Endpoint } from './work-queue.ts'

/** What a receiver is made of. */
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
  /** Has hooks decide, where there are any. */
  readonly deciderFor?: ((trace: DeciderTrace) => Decider) | undefined
  /** It ends when nothing came for so long and no turn is open; undefined = never. */
  readonly idleMillis: number | undefined
  /** Whole conversations are kept. */
  readonly isAllWanted: boolean
  /** What was told to the person so far, and will be. */
  readonly lines: readonly string[]
  say(line: string): void
  secretOf(path: string): string | undefined
}
