import { createReadStream } from 'node:fs';
import { LineSplitter } from '../viewer/line-splitter.js';
import { parseRecordJson } from './record-json.js';
const EXPECTED = 'expected an object {"hook": …, "payload": …}';
function kindOf(value) {
    if (value === null)
        return 'null';
    return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}
/** Says what is wrong without the line's content: that may be somebody's prompt, or a secret. */
function problemOf(value) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
        return `${EXPECTED}, got ${kindOf(value)}`;
    const { hook } = value;
    if (typeof hook === 'string')
        return hook.trim() === '' ? 'its "hook" is empty' : undefined;
    if (hook !== undefined)
        return `its "hook" is ${kindOf(hook)}, not a name`;
    return 'event' in value ? 'a raw event of a host, not a hook record: it has no "hook"' : 'it has no "hook"';
}
/**
 * Reads hook records, one a line. A line `{"fixture": {…}}` describes what follows, and its host is the host of those
 * records that name none; usually it is the first one, but files that were put together have several.
 */
export class RecordReader {
    #given;
    #headHost;
    /** @param host of records that name none, whatever a head line says */
    constructor(host) {
        this.#given = host;
    }
    async *read(input) {
        const splitter = new LineSplitter();
        for await (const chunk of input) {
            for (const line of splitter.push(Buffer.from(chunk)))
                yield* this.#entries(line);
        }
        const last = splitter.finish();
        if (last !== undefined)
            yield* this.#entries(last);
    }
    *#entries(line) {
        const entry = 'problem' in line ? line : this.#entry(line.line, line.text);
        if (entry !== undefined)
            yield entry;
    }
    #entry(line, text) {
        const parsed = parseRecordJson(text);
        if ('problem' in parsed)
            return { line, problem: parsed.problem };
        const { value } = parsed;
        if (isHead(value)) {
            this.#headHost = typeof value.fixture.host === 'string' ? value.fixture.host : undefined;
            return undefined;
        }
        const problem = problemOf(value);
        if (problem !== undefined)
            return { line, problem };
        const { hook, payload, at, host, delivery_id, correlation } = value;
        const meta = { at, host: host ?? this.#given ?? this.#headHost, delivery_id, correlation };
        return { record: { hook, payload, meta: dropUndefined(meta) } };
    }
}
function isHead(value) {
    if (typeof value !== 'object' || value === null || 'hook' in value)
        return false;
    const { fixture } = value;
    return typeof fixture === 'object' && fixture !== null;
}
function dropUndefined(meta) {
    return Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== undefined));
}
/** A file, or standard input for `-`. */
export function openInput(name, stdin) {
    return name === '-' ? stdin : createReadStream(name);
}
