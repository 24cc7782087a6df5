/**
 * Text out of a trace as it may be shown: one line, without anything that moves a cursor, sets a colour, changes the
 * direction of writing or hides. Everything that a terminal or a picture shows of a trace passes through here.
 */
export declare function displayText(text: string): string;
