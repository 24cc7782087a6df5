import { type NumberedLine } from './line-splitter.ts';
export type { NumberedLine } from './line-splitter.ts';
/** Reads a file by lines, of which the file may get more later: each `read` goes on where the last one stopped. */
export declare class LineReader {
    #private;
    readonly path: string;
    constructor(path: string, maxLineBytes?: number);
    /** Every complete line that has not been read yet; blank ones are left out. */
    read(): AsyncGenerator<NumberedLine, void>;
    /** What stands behind the last line end: the last line of a file that is finished, half a line of one that grows. */
    rest(): NumberedLine | undefined;
}
