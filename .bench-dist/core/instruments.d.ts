import type { Meter, ObservableResult } from '@opentelemetry/api';
import { type MetricKey } from '../semconv/index.ts';
import type { MetricPoint } from '../spans/span-definition.ts';
type Labels = Readonly<Record<string, string>>;
export interface InstrumentOptions {
    readonly namespace: string;
    readonly emitGenAi: boolean;
    /** Distinct values per label, 0 = no limit. */
    readonly labelLimit: number;
}
/** What reads a number at collection: open spans, what a backend was given. */
export type Gauge = (result: ObservableResult) => void;
/** All instruments, built from the table once. */
export declare class Instruments {
    #private;
    constructor(meter: Meter, options: InstrumentOptions, gauges: Partial<Record<MetricKey, Gauge>>);
    record(points: readonly MetricPoint[]): void;
    add(instrument: MetricKey, value: number, labels: Labels): void;
}
export {};
