/**
 * How deep a quote is escaped: JSON inside JSON writes it with 1 backslash, once more inside JSON with 3, then 7. What
 * stands in front of those is the content's: in `\\\\"` two escaped backslashes and a quote of level 0.
 */
export declare function quoteLevel(text: string, at: number, from: number): number;
/** The end of the content that begins at `from`; the end of the text when it was cut off before its closing quote. */
export declare function endOfQuoted(text: string, from: number, opening: string): number;
/** The end of the object or array that begins at `from`, brackets included; the end of the text when it was cut off. */
export declare function endOfStructure(text: string, from: number, opening: string): number;
