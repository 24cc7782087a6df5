/** What stands in the place of a secret. It holds no quote and no backslash, so JSON text stays JSON text. */
export declare const MASK = "[REDACTED]";
export interface SecretSpan {
    readonly start: number;
    readonly end: number;
    /** Default `MASK`. */
    readonly mask?: string;
}
/** One family of secrets: where one may be (cheap, run over every text), and whether and how far one really is there. */
export interface SecretFamily {
    /** Global; must cost about a nanosecond a character on ordinary text. */
    readonly candidates: RegExp;
    /** `at` is where the candidate begins; the span may begin before it. */
    spanAt(text: string, at: number): SecretSpan | undefined;
}
export declare function maskSpans(text: string, family: SecretFamily): string;
/** Runs a sticky pattern at one place: the end of the match, or -1. */
export declare function endOfMatch(pattern: RegExp, text: string, at: number): number;
export declare function isWordCharacter(code: number): boolean;
/**
 * A word inside JSON text, a URL or terminal output can be glued to an escape: in `"a\nghp_…"` the letters before the
 * underscore read `nghp`. Returns where the word begins after such an escape, else `start`.
 */
export declare function afterEscape(text: string, start: number): number;
