export { closeJson } from './json-text.ts';
/**
 * JSON of a value that belongs to somebody else. Its getters, Proxy traps and `toJSON` can throw at any step, and one
 * of them must not cost the rest of the value: besides `core/guard.ts` and `foreign.ts`, this is the place on the hot
 * path that may catch.
 */
export interface BoundedJson {
    readonly text: string;
    readonly truncated: boolean;
}
/** Decimal digits; the text of a huge one costs more than linear time, so that only says what it is. */
export declare function bigintText(value: bigint): string;
/**
 * JSON of any value in at most `maxChars` characters, valid also after a cut: strings end with `...`, containers are
 * closed. Cost is linear in `maxChars`, whatever the value. Strings pass through `leaf`; values under keys for which
 * `isSecret` holds are masked. Undefined when JSON has no form for the value, as with `JSON.stringify`, or when not
 * even `""` fits.
 */
export declare function boundedJson(value: unknown, maxChars: number, leaf: (text: string) => string, isSecret?: (key: string) => boolean): BoundedJson | undefined;
