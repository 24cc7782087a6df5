import { isRecord, readAttributes } from './attribute-value.js';
import { LineReader } from './line-reader.js';
/** A line that is not OTLP/JSON. The message never quotes the line: it may hold anything. */
export class ExportLineError extends Error {
    name = 'ExportLineError';
}
const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];
const STATUSES = ['unset', 'ok', 'error'];
/**
 * Reads one line of OTLP/JSON, an `ExportTraceServiceRequest` or `TracesData`. A line of another signal, or the note
 * of something that is no span, holds no spans.
 *
 * @throws {ExportLineError} when the line is no JSON object, or a span in it has no id or no start
 */
export function readExportLine(line) {
    const request = parseObject(line);
    const spans = [];
    for (const resourceSpans of records(request['resourceSpans'], 'resourceSpans')) {
        const resource = readAttributes(isRecord(resourceSpans['resource']) ? resourceSpans['resource']['attributes'] : []);
        for (const scopeSpans of records(resourceSpans['scopeSpans'], 'scopeSpans')) {
            const scope = readScope(scopeSpans['scope']);
            for (const span of records(scopeSpans['spans'], 'spans'))
                spans.push(readSpan(span, resource, scope));
        }
    }
    return spans;
}
/**
 * Reads a file of OTLP/JSON lines, a line at a time. Lines that cannot be read are reported and passed over; lines that
 * `mayMatter` (given their text) turns down are not even parsed.
 *
 * @throws the error of the file system when the file cannot be read
 */
export async function* readTraceFile(path, mayMatter = () => true) {
    const reader = new LineReader(path);
    for await (const line of reader.read())
        if ('problem' in line || mayMatter(line.text))
            yield readEntry(line);
    const rest = reader.rest();
    if (rest !== undefined && ('problem' in rest || mayMatter(rest.text)))
        yield readEntry(rest);
}
/** One line of a file, never throwing. */
export function readEntry(line) {
    if ('problem' in line)
        return line;
    try {
        return { spans: readExportLine(line.text) };
    }
    catch (error) {
        if (error instanceof ExportLineError)
            return { line: line.line, problem: error.message };
        throw error;
    }
}
function parseObject(line) {
    let value;
    try {
        value = JSON.parse(line);
    }
    catch {
        throw new ExportLineError('not valid JSON');
    }
    if (!isRecord(value))
        throw new ExportLineError('not a JSON object');
    return value;
}
function records(value, what) {
    if (value === undefined || value === null)
        return [];
    if (!Array.isArray(value) || !value.every(isRecord))
        throw new ExportLineError(`${what} is not a list of objects`);
    return value;
}
function readSpan(span, resource, scope) {
    const startAt = readTime(span['startTimeUnixNano']);
    if (startAt === undefined)
        throw new ExportLineError('a span without startTimeUnixNano');
    const parentSpanId = readId(span['parentSpanId']);
    return {
        traceId: requireId(span['traceId'], 'traceId'),
        spanId: requireId(span['spanId'], 'spanId'),
        ...(parentSpanId !== undefined && { parentSpanId }),
        name: text(span['name']),
        kind: readEnum(span['kind'], KINDS, 'SPAN_KIND_'),
        startAt,
        endAt: readTime(span['endTimeUnixNano']) ?? startAt,
        ...readStatus(span['status']),
        attributes: readAttributes(span['attributes']),
        events: records(span['events'], 'events').map(event => readEvent(event, startAt)),
        links: records(span['links'], 'links').map(readLink),
        resource,
        scope,
    };
}
function readScope(scope) {
    if (!isRecord(scope))
        return { name: '' };
    const version = text(scope['version']);
    return { name: text(scope['name']), ...(version !== '' && { version }) };
}
function readStatus(status) {
    if (!isRecord(status))
        return { status: 'unset' };
    const message = text(status['message']);
    const code = readEnum(status['code'], STATUSES, 'STATUS_CODE_');
    return { status: code, ...(message !== '' && { statusMessage: message }) };
}
function readEvent(event, startAt) {
    const at = readTime(event['timeUnixNano']) ?? startAt;
    return { name: text(event['name']), at, attributes: readAttributes(event['attributes']) };
}
function readLink(link) {
    return {
        traceId: text(link['traceId']),
        spanId: text(link['spanId']),
        attributes: readAttributes(link['attributes']),
    };
}
function text(value) {
    return typeof value === 'string' ? value : '';
}
function requireId(value, what) {
    const id = readId(value);
    if (id === undefined)
        throw new ExportLineError(`a span without ${what}`);
    return id;
}
/** All zeros is how some writers spell "none". */
function readId(value) {
    return typeof value === 'string' && /[^0]/.test(value) ? value : undefined;
}
/** Enums arrive as numbers or as their protobuf names. */
function readEnum(value, names, prefix) {
    const found = typeof value === 'string'
        ? names.find(name => value === prefix + name.toUpperCase())
        : names[typeof value === 'number' ? value : 0];
    return found ?? names[0];
}
/** Nanoseconds do not fit into a double: they are divided as integers, so that round milliseconds stay round. */
function readTime(nanos) {
    const digits = typeof nanos === 'number' && Number.isInteger(nanos) ? BigInt(nanos).toString() : nanos;
    if (typeof digits !== 'string' || !/^\d{1,20}$/.test(digits))
        return undefined;
    const whole = BigInt(digits);
    return Number(whole / 1000000n) + Number(whole % 1000000n) / 1e6;
}
