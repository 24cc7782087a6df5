import type { Clipped } from './clip.ts';
/**
 * Writes JSON of at most `maxChars` characters that is complete at every moment: what closes an open container is set
 * aside when it opens. The writer does not check the order of calls. `lead` is what has to stand before a token
 * (comma, key, colon); it is written with the token or not at all.
 */
export declare class JsonWriter {
    #private;
    text: string;
    isTruncated: boolean;
    /** Something did not fit: nothing more should be written. */
    isFull: boolean;
    constructor(maxChars: number);
    get room(): number;
    scalar(lead: string, token: string): boolean;
    open(lead: string, bracket: string): boolean;
    close(bracket: string): void;
    string(lead: string, { text, isCut }: Clipped): boolean;
    /** Takes back what was written since: `writer.restore(writer.mark())` changes nothing. */
    mark(): {
        text: string;
        room: number;
    };
    restore(mark: {
        text: string;
        room: number;
    }): void;
    stop(): void;
}
