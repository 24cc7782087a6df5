import type { HookResult } from '../contract/index.ts';
import type { AnyDefinition } from '../spans/index.ts';
import type { HookStarts } from './hook-starts.ts';
import type { CoreParts, Incoming } from './parts.ts';
/** What a record that ends something does; an end opens no turn, but for a tool whose start was never seen. */
export declare class HookEnds {
    #private;
    constructor(parts: CoreParts, starts: HookStarts);
    /** `on_session_end`: the turn is over, whatever is still open in it. */
    session({ fired, ids, host, isExplicit }: Incoming): HookResult;
    /** `subagent_stop`: found by the child's ids, because the parent may be in another turn by now. */
    subagent(definition: AnyDefinition, incoming: Incoming): HookResult;
    /** Every other end. */
    span(definition: AnyDefinition, incoming: Incoming): HookResult;
}
