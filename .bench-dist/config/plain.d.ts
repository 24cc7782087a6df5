/** Configuration as plain data, whatever its source. Maps have no prototype: `__proto__` is a key like any other. */
export type Plain = string | number | boolean | undefined | Unusable | readonly Plain[] | PlainMap;
export interface PlainMap {
    readonly [key: string]: Plain;
}
/** Stands where a value cannot be used at all. */
export declare class Unusable {
    /** `got …`: a function, a bigint. */
    readonly what: string;
    /** Says what is wrong where "expected …, got …" would not. */
    readonly reason: string | undefined;
    constructor(what: string, reason?: string);
}
export declare function isPlainMap(value: Plain): value is PlainMap;
export declare function emptyMap<Value>(): Record<string, Value>;
/** Counts what is copied, so that cyclic and exploding values end. */
export declare class CopyBudget {
    #private;
    spent(depth: number): boolean;
}
/** A snapshot of options given in code: nothing in it throws, whatever was given, and nothing changes under us later. */
export declare function plainCopy(value: unknown, depth?: number, budget?: CopyBudget): Plain;
