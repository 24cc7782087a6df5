/**
 * How many terminal cells a text takes. The usual `wcwidth` reading: combining marks and format characters none, East
 * Asian wide characters and emoji two, everything else one.
 */
export declare function displayWidth(text: string): number;
/** At most `width` cells of the text; the last of them an ellipsis when something was cut. */
export declare function clipToWidth(text: string, width: number): string;
export declare function padEndToWidth(text: string, width: number): string;
export declare function padStartToWidth(text: string, width: number): string;
