import type { ToolEnd } from '../contract/index.ts';
import type { Draw, Fired } from './span-definition.ts';
export interface ToolOutcome {
    /** `completed`, `error`, `timeout`, `blocked`, `cancelled`, or a result's own status in lower case. */
    readonly outcome: string;
    /** What the result says of its error, when the outcome is `error`. */
    readonly resultError: unknown;
}
/** How a tool call ended: the hook's own word first, then what the result says. */
export declare const toolOutcomeOf: (fired: Fired<ToolEnd>, draw: Draw) => ToolOutcome;
