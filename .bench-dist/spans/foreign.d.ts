/**
 * Reading values that belong to somebody else. A getter or a Proxy trap of the host can throw at any property; one bad
 * field must not cost the span its other attributes, so this file may catch (like `bounded-json.ts`).
 */
/** The property, or undefined when the value is not an object or reading it throws. */
export declare function peek(value: unknown, key: string): unknown;
/** Text with something in it, else undefined. */
export declare function textOf(value: unknown): string | undefined;
/** An id as a key: text or a number; undefined where absent, blank or no id at all. */
export declare function idOf(value: unknown): string | undefined;
/** A finite number, also out of numeric text; booleans, garbage, NaN and infinities are undefined. */
export declare function numberOf(value: unknown): number | undefined;
/** A finite number that is above zero. */
export declare function positive(value: unknown): number | undefined;
export declare function booleanOf(value: unknown): boolean | undefined;
/** Array elements, at most `limit` of them; none when the value is not an array. */
export declare function elementsOf(value: unknown, limit: number): readonly unknown[];
