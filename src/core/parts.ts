import type { IncompleteReason } from '../contract/index.ts'
import type { Fired } from '../spans/span-definition.ts'
import type { DelegationRegistry } from './delegation.ts'
import type { Guard } from './guard.ts'
import type { CoreOptions } from './options.ts'
import type { OrphanSweep } from './orphan-sweep.ts'
import type { RecordIds } from './record-ids.ts'
import type { SpanTracker } from './span-tracker.ts'
import type { OpenSpan, Turn } from './turn.ts'
import type { TurnFacts } from './turn-facts.ts'
import type { TurnLifecycle } from './turn-lifecycle.ts'
import type { TurnRegistry } from './turn-registry.ts'

/** One record on its way through the core. */
export interface Incoming {
  readonly fired: Fired<Readonly<Record<string, unknown>>>
  readonly host: string
  readonly ids: RecordIds
  /** The host said when it fired; only then can two records be known for the same. */
  readonly isExplicit: boolean
}

/** The parts of the core that act together on a record. */
export interface CoreParts {
  readonly options: CoreOptions
  readonly guard: Guard
  readonly registry: TurnRegistry
  readonly tracker: SpanTracker
  readonly facts: TurnFacts
  readonly lifecycle: TurnLifecycle
  readonly delegations: DelegationRegistry
  readonly turnSweep: OrphanSweep<Turn>
  /** Background work has no end of its own: a short silence tells it. */
  readonly backgroundSweep: OrphanSweep<Turn>
  readonly spanSweep: OrphanSweep<OpenSpan>
  /** Ends a span that the host did not end, and all that is kept of it elsewhere. */
  abandon(open: OpenSpan, reason: IncompleteReason, at: number): void
  onTurnEnd(): void
}
