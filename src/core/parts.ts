import type { IncompleteReason } from '../contract/index.ts'
import type { DelegationRegistry } from './delegation.ts'
import type { Guard } from './guard.ts'
import type { CoreOptions } from './options.ts'
import type { OrphanSweep } from './orphan-sweep.ts'
import type { SpanTracker } from './span-tracker.ts'
import type { OpenSpan, Turn } from './turn.ts'
import type { TurnFacts } from './turn-facts.ts'
import type { TurnLifecycle } from './turn-lifecycle.ts'
import type { TurnRegistry } from './turn-registry.ts'

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
