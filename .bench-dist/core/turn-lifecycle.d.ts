import type { FinalStatus, IncompleteReason, SessionEnd } from '../contract/index.ts';
import type { Fired } from '../spans/span-definition.ts';
import type { DelegationRegistry } from './delegation.ts';
import type { CoreOptions } from './options.ts';
import type { OrphanSweep } from './orphan-sweep.ts';
import type { RecordIds } from './record-ids.ts';
import type { SpanTracker } from './span-tracker.ts';
import { type EndedTurn, type OpenSpan, type Session, type Turn } from './turn.ts';
import type { TurnRegistry } from './turn-registry.ts';
type AnyFired = Fired<Readonly<Record<string, unknown>>>;
/** How a turn came to its end. */
export interface TurnOver {
    readonly at: number;
    readonly finalStatus: FinalStatus;
    readonly payload?: SessionEnd;
    /** Mark of the open spans below the root. */
    readonly descendants: IncompleteReason;
    /** Mark of the root, when we end it on no word of the host. */
    readonly root?: IncompleteReason;
    readonly rootStatus?: 'drawn' | 'unset';
}
export interface LifecycleParts {
    readonly options: CoreOptions;
    readonly registry: TurnRegistry;
    readonly tracker: SpanTracker;
    readonly delegations: DelegationRegistry;
    readonly turnSweep: OrphanSweep<Turn>;
    readonly spanSweep: OrphanSweep<OpenSpan>;
}
/** Begins and ends turns: roots, late turns, turns without a root. */
export declare class TurnLifecycle {
    #private;
    constructor(parts: LifecycleParts);
    /** A turn with its root span. `startAt` differs from the record's time only for a span that is made up afterwards. */
    open(session: Session, ids: RecordIds, fired: AnyFired, how: {
        isSide: boolean;
        startAt?: number;
    }): Turn;
    /** A turn without a root: for late records of a finished turn, or (without one) for spans that stand alone. */
    openRootless(session: Session, ids: RecordIds, fired: AnyFired, ended: EndedTurn | undefined): Turn;
    /** The turn was opened without an id and has got one: every span says it, the root too. */
    named(turn: Turn): void;
    /** A sign of life, for the turn and for everything that waits for it. */
    touch(turn: Turn, at: number): void;
    finish(turn: Turn, over: TurnOver): void;
    /** A rootless turn is over with its last span. */
    closeWhenEmpty(turn: Turn): void;
}
export {};
