import type { Draw, Fired } from '../spans/span-definition.ts';
import type { TurnTotals } from '../spans/turn-totals.ts';
/** Folds a record that started a span into its turn's sums; `isDrawn`: the root is recorded, so content is wanted. */
export declare function foldStart(totals: TurnTotals, fired: Fired<unknown>, draw: Draw, isDrawn: boolean): void;
/** Folds a record that ended a span; `startSeen` is false for a span that is made up afterwards. */
export declare function foldEnd(totals: TurnTotals, fired: Fired<unknown>, draw: Draw, ended: {
    readonly start: unknown;
    readonly startSeen: boolean;
    readonly durationMillis: number | undefined;
}): void;
