import { LineReader } from './line-reader.js';
import { readEntry } from './stored-span.js';
import { buildForest } from './trace-forest.js';
import { isOfSession } from './trace-log.js';
/** Traces whose root never ends must not pile up, nor the memory of those that were handed out. */
const MAX_OPEN = 1_000;
const MAX_DONE = 10_000;
/**
 * Follows files that grow. Every `poll` gives the traces whose root span, the one without a parent, has ended since
 * the last one. Spans that come after their trace was handed out are left out: their line is in the log.
 */
export class TraceFollower {
    #listFiles;
    #query;
    #readers = new Map();
    #open = new Map();
    #done = new Set();
    #hasPolled = false;
    constructor(listFiles, query) {
        this.#listFiles = listFiles;
        this.#query = query;
    }
    /** By start. The first poll, which reads everything there is, gives only the query's last ones. */
    async poll() {
        const most = this.#hasPolled ? Number.POSITIVE_INFINITY : this.#query.last;
        this.#hasPolled = true;
        const ended = new Set();
        const paths = await this.#listFiles();
        for (const path of this.#readers.keys())
            if (!paths.includes(path))
                this.#readers.delete(path);
        for (const path of paths) {
            for await (const span of this.#newSpans(path))
                this.#take(span, ended, most);
        }
        return this.#handOut(ended);
    }
    async *#newSpans(path) {
        const reader = this.#readers.get(path) ?? new LineReader(path);
        this.#readers.set(path, reader);
        try {
            for await (const line of reader.read()) {
                const entry = readEntry(line);
                if ('spans' in entry)
                    yield* entry.spans;
            }
        }
        catch (error) {
            // A segment that was rotated away between the listing and the reading is not a fault.
            if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT'))
                throw error;
        }
    }
    #take(span, ended, most) {
        const { traceId } = span;
        if (this.#done.has(traceId))
            return;
        const trace = this.#open.get(traceId);
        if (trace === undefined)
            this.#open.set(traceId, [span]);
        else
            trace.push(span);
        if (span.parentSpanId === undefined) {
            if (this.#isWanted(this.#open.get(traceId) ?? []))
                ended.add(traceId);
            else
                this.#close(traceId);
        }
        if (ended.size > most)
            this.#drop(ended, ended);
        if (this.#open.size > MAX_OPEN)
            this.#drop([...this.#open.keys()].filter(id => !ended.has(id)), ended);
    }
    #isWanted(spans) {
        const { sessionId } = this.#query;
        return sessionId === undefined || spans.some(span => isOfSession(span, sessionId));
    }
    /** Gives up the first of these. */
    #drop([first], ended) {
        if (first === undefined)
            return;
        ended.delete(first);
        this.#close(first);
    }
    #close(traceId) {
        this.#open.delete(traceId);
        this.#done.add(traceId);
        const [oldest] = this.#done;
        if (this.#done.size > MAX_DONE && oldest !== undefined)
            this.#done.delete(oldest);
    }
    #handOut(ended) {
        const spans = [...ended].flatMap(traceId => this.#open.get(traceId) ?? []);
        for (const traceId of ended)
            this.#close(traceId);
        return buildForest(spans);
    }
}
