/** Cutting text to a length without leaving half of anything: half a character, or half a secret. */
/**
 * How much of a text is looked at beyond what may be kept of it: a secret that begins before the cut is recognised by
 * what stands behind it.
 */
export declare const WINDOW_MARGIN = 400;
export interface Clipped {
    readonly text: string;
    readonly isCut: boolean;
}
/** What stands in for a redactor when nothing is masked; recognised by identity. */
export declare function keepAll(text: string): string;
/** Lone surrogates become U+FFFD: half a character is neither JSON nor UTF-8 to a backend. */
export declare function wellFormed(text: string): string;
/** The first `length` characters, one less where that would split a pair. */
export declare function head(text: string, length: number): string;
/** At most `cap` characters in all, the ellipsis of a cut included. */
export declare function clip({ text, isCut }: Clipped, cap: number): Clipped;
/**
 * The same text as a string of its own: V8 makes a slice point into its parent, and a preview that waits for export
 * would hold the 50 MB that it was cut from.
 */
export declare function copyOf(text: string): string;
/** The beginning of a text. */
export declare function windowOf(text: string, length: number): Clipped;
/**
 * Redacts a text of which at most `room` characters will be kept. Of a cut text, the last word of the window goes:
 * it may be the head of a secret that was too short to be recognised.
 */
export declare function redactWithin(source: Clipped, room: number, redact: (text: string) => string): Clipped;
