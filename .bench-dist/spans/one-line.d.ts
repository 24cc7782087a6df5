/** Without terminal sequences (7-bit and 8-bit) and control characters; white space stays. */
export declare function withoutControls(text: string): string;
/** A text as one line: no terminal sequences, no control characters, runs of white space as one space, trimmed. */
export declare function oneLine(text: string): string;
