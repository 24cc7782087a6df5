import { type MetricKey } from '../semconv/index.ts';
export type InstrumentKind = 'counter' | 'histogram' | 'up_down_counter' | 'gauge';
/** One instrument. The documentation table is generated from these rows and the dashboards are checked against them. */
export interface InstrumentRow {
    readonly kind: InstrumentKind;
    /** UCUM. */
    readonly unit: string;
    readonly description: string;
    readonly labels: readonly string[];
    /** Upper bounds of a histogram's buckets, in `unit`. */
    readonly buckets?: readonly number[];
    /** Where the point is recorded. */
    readonly recorded: string;
}
export declare const INSTRUMENTS: {
    readonly [Key in MetricKey]: InstrumentRow;
};
