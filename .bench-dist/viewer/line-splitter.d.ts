export type NumberedLine = {
    readonly line: number;
    readonly text: string;
} | {
    readonly line: number;
    readonly problem: string;
};
/**
 * Bytes in pieces → numbered lines; blank ones are left out, but count. Not `node:readline`, because that also breaks
 * lines at U+2028, which JSON strings may contain.
 */
export declare class LineSplitter {
    #private;
    constructor(maxLineBytes?: number);
    /** `onTaken` is told how many bytes of the chunk are behind each line that comes out. */
    push(chunk: Buffer, onTaken?: (bytes: number) => void): Generator<NumberedLine, void>;
    /** What stands behind the last line end, as a line. */
    finish(): NumberedLine | undefined;
}
