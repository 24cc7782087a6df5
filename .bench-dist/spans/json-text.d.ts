/** What is done to JSON text on its way through. */
export interface JsonRewrite {
    /** Every string, decoded, keys included. */
    leaf(text: string): string;
    /** Values under these keys are masked. */
    isSecret(key: string): boolean;
    readonly keepsSpace: boolean;
}
/**
 * JSON text, or the head of one that was cut, as valid JSON of at most `maxChars` characters. Undefined when the text
 * is not JSON. Cost is linear in the text: hand in a window, not the whole.
 */
export declare function rewriteJson(text: string, maxChars: number, rewrite: JsonRewrite): {
    text: string;
    truncated: boolean;
} | undefined;
/**
 * The head of a JSON text that was cut, as valid JSON of at most `maxChars` characters: cut at a safe place, open
 * strings end with `...`, containers are closed. Undefined when the head is not JSON at all. Linear in the head.
 */
export declare function closeJson(prefix: string, maxChars: number): string | undefined;
