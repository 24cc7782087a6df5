import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { LineSplitter } from './line-splitter.js';
/** Reads a file by lines, of which the file may get more later: each `read` goes on where the last one stopped. */
export class LineReader {
    path;
    #maxBytes;
    #splitter;
    #offset = 0;
    constructor(path, maxLineBytes) {
        this.path = path;
        this.#maxBytes = maxLineBytes;
        this.#splitter = new LineSplitter(maxLineBytes);
    }
    /** Every complete line that has not been read yet; blank ones are left out. */
    async *read() {
        const { size } = await stat(this.path);
        if (size < this.#offset)
            this.#restart();
        if (size === this.#offset)
            return;
        const taken = (bytes) => {
            this.#offset += bytes;
        };
        for await (const chunk of createReadStream(this.path, { start: this.#offset })) {
            yield* this.#splitter.push(chunk, taken);
        }
    }
    /** What stands behind the last line end: the last line of a file that is finished, half a line of one that grows. */
    rest() {
        return this.#splitter.finish();
    }
    #restart() {
        this.#offset = 0;
        this.#splitter = new LineSplitter(this.#maxBytes);
    }
}
