import type { Draw } from './span-definition.ts';
/** Readings of a record that several rows want; each is made once and forgotten with the record. */
export type RecordFacts = Record<string, unknown>;
/**
 * A reading that attributes, metrics and the turn summary share and that costs something, such as parsing a tool's
 * result. Kept on the record itself: a WeakMap would cost more than most readings.
 */
export declare function perRecord<Fired extends {
    readonly facts: RecordFacts;
}, Reading>(name: string, read: (fired: Fired, draw: Draw) => Reading): (fired: Fired, draw: Draw) => Reading;
