import type { SubagentStart, SubagentStop } from '../contract/index.ts';
import type { OpenSpan, Turn } from './turn.ts';
/** A child agent that was delegated to, from `subagent_start` until its own turn is over. */
export interface Delegation {
    readonly host: string;
    readonly open: OpenSpan;
    readonly childSessionId: string | undefined;
    readonly childSubagentId: string | undefined;
    readonly role: unknown;
    readonly parentSessionId: string | undefined;
    /** `subagent_stop` was seen, or we ended the span. */
    stopped: boolean;
    /** By the records' time, epoch ms. */
    stoppedAt: number;
    /** Turns of the child that are open now. */
    readonly childTurns: Set<Turn>;
    childSeen: boolean;
}
type ChildIds = Pick<SubagentStart & SubagentStop, 'child_session_id' | 'child_subagent_id'>;
/** Which child belongs to which delegation: found by either of the child's ids, because a stop may carry only one. */
export declare class DelegationRegistry {
    #private;
    /**
     * @param limitMillis how long after its stop a delegation waits for a child that was not seen yet
     * @param onEvict ends the span of a delegation that is forgotten
     */
    constructor(limitMillis: number, onEvict: (delegation: Delegation) => void);
    add(open: OpenSpan, payload: SubagentStart, parentSessionId: string | undefined): Delegation;
    find(host: string, ids: ChildIds): Delegation | undefined;
    /** The delegation that a new turn of this session is the work of. */
    forChild(host: string, sessionId: string | undefined, at: number): Delegation | undefined;
    /** A stop that had no delegation: its repeat must not count again. */
    noteStopped(host: string, ids: ChildIds): void;
    wasStopped(host: string, ids: ChildIds): boolean;
    /** Of an open span, when it is a delegation's. */
    of(open: OpenSpan): Delegation | undefined;
    stop(delegation: Delegation, at: number): void;
    childStarted(delegation: Delegation, turn: Turn): void;
    childEnded(delegation: Delegation, turn: Turn): void;
    /** Whether the span must stay open although its parent's turn is over: the child runs, or is still to start. */
    outlivesTurn(open: OpenSpan): boolean;
    forget(delegation: Delegation): void;
}
export {};
