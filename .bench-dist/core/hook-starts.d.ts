import type { HookResult } from '../contract/index.ts';
import type { AnyDefinition } from '../spans/index.ts';
import type { CoreParts, Incoming } from './parts.ts';
import type { Turn } from './turn.ts';
/** What a record that starts something does: which turn it belongs to, and which span it opens there. */
export declare class HookStarts {
    #private;
    constructor(parts: CoreParts);
    /** `on_session_start`: opens the turn's root, or adds to the one that is open. */
    session(incoming: Incoming): HookResult;
    /** `pre_llm_call`: begins a turn, so another one of its session that is still open was interrupted. */
    turn(definition: AnyDefinition, incoming: Incoming): HookResult;
    /** Every other start. */
    span(definition: AnyDefinition, incoming: Incoming): HookResult;
    /** The turn that a record belongs to, opened where there is none. */
    turnFor(definition: AnyDefinition, incoming: Incoming, startAt?: number): Turn;
}
