import type { FinalStatus, SessionEnd, SessionStart } from '../contract/index.ts';
import { type SafeText } from './capture.ts';
import type { Draw, SpanAttributes, SpanDefinition } from './span-definition.ts';
import type { TurnTotals } from './turn-totals.ts';
/** What the tracker knows of a turn that is over, beside the host's own words. */
export interface TurnEnd extends SessionEnd {
    readonly finalStatus: FinalStatus;
    readonly totals: TurnTotals;
    readonly durationMillis: number;
    readonly agentName: SafeText | undefined;
}
/** What set the session off; low-cardinality, because it is a metric label too. */
export declare function sessionKind(payload: SessionStart): string;
/** `failed` is stronger than `completed`, and so on: hosts set more than one. */
export declare function finalStatusOf(payload: SessionEnd): FinalStatus;
/** Attributes of the start that a repeated `on_session_start` may still supply. */
export declare function sessionStartAttributes(payload: SessionStart, draw: Draw): SpanAttributes;
/** The root: one turn of the agent, in every way out of it. */
export declare const session: SpanDefinition<SessionStart, TurnEnd>;
