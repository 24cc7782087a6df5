import type { StringMap } from './types.ts';
export interface Pairs {
    readonly pairs: StringMap;
    /** Indexes of the entries that are not well-formed. */
    readonly faults: readonly number[];
}
/** OpenTelemetry's form of a mapping in one variable: `name=value,name=value`, names and values percent-encoded. */
export declare function parsePairs(text: string): Pairs;
