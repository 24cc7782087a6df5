/** `412 ms`, `2.3 s`, `4 m 05 s`, `1 h 02 m`, `3 d 04 h`: at most two units, for reading and not for computing. */
export declare function humanDuration(millis: number): string;
/** `1 840`: thousands set apart by spaces. */
export declare function humanCount(count: number): string;
/** `1 span`, `14 spans`. */
export declare function countOf(count: number, noun: string): string;
/** `2026-11-21 10:15:00 UTC`; empty for what is no instant. */
export declare function humanInstant(at: number): string;
