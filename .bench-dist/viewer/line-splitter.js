/** The longest line that is read; a longer one does not fit into a string for sure, nor its spans into memory. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;
const NEWLINE = 0x0a;
/**
 * Bytes in pieces → numbered lines; blank ones are left out, but count. Not `node:readline`, because that also breaks
 * lines at U+2028, which JSON strings may contain.
 */
export class LineSplitter {
    #maxBytes;
    #line = 1;
    #pieces = [];
    #bytes = 0;
    constructor(maxLineBytes = MAX_LINE_BYTES) {
        this.#maxBytes = maxLineBytes;
    }
    /** `onTaken` is told how many bytes of the chunk are behind each line that comes out. */
    *push(chunk, onTaken) {
        let from = 0;
        for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
            this.#take(chunk.subarray(from, end));
            onTaken?.(end + 1 - from);
            from = end + 1;
            const line = this.finish();
            if (line !== undefined)
                yield line;
        }
        this.#take(chunk.subarray(from));
        onTaken?.(chunk.length - from);
    }
    /** What stands behind the last line end, as a line. */
    finish() {
        const line = this.#line++;
        const isTooLong = this.#bytes > this.#maxBytes;
        const text = Buffer.concat(this.#pieces)
            .toString('utf8')
            .replace(/^\ufeff/, '');
        this.#pieces = [];
        this.#bytes = 0;
        if (isTooLong)
            return { line, problem: `longer than ${this.#maxBytes} bytes` };
        return text.trim() === '' ? undefined : { line, text };
    }
    #take(piece) {
        this.#bytes += piece.length;
        if (this.#bytes > this.#maxBytes)
            this.#pieces = [];
        else if (piece.length > 0)
            this.#pieces.push(piece);
    }
}
