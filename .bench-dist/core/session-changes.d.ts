import type { HookResult } from '../contract/index.ts';
import type { CoreParts, Incoming } from './parts.ts';
/** Sessions that come and go: finalize and reset. And the transforms, which are only observed. */
export declare class SessionChanges {
    #private;
    constructor(parts: CoreParts);
    finalize(incoming: Incoming): HookResult;
    /** The old session's last root is linked from the first turn of the new one. */
    reset(incoming: Incoming): HookResult;
    /** Another plugin is about to replace a result or an answer: an event where the span is still open, else on the turn. */
    transform(incoming: Incoming): HookResult;
}
