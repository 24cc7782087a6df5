import { createHash, randomBytes } from 'node:crypto';
const TRACE_ID_DIGITS = 32;
const SPAN_ID_DIGITS = 16;
function digest(digits, ...parts) {
    const hash = createHash('sha256');
    // The length keeps ('a', 'bc') and ('ab', 'c') apart.
    for (const part of parts)
        hash.update(`${part.length}:${part};`);
    return valid(hash.digest('hex').slice(0, digits));
}
function random(digits) {
    return valid(randomBytes(digits / 2).toString('hex'));
}
/** An id of zeros means "no id". */
function valid(id) {
    return /[^0]/.test(id) ? id : `${id.slice(1)}1`;
}
/**
 * Ids that are derived from what the span is, so that a repeated delivery or replay gives the same ones.
 * A seed holds for the next span that is started; without one, ids are random.
 */
export class DeterministicIds {
    #next;
    #trace;
    /** The trace identity is only used when that span starts a trace. */
    seed(traceIdentity, spanIdentity) {
        this.#next = { trace: traceIdentity, span: spanIdentity };
    }
    /** The tracer asks for the span id first, for every span, and then, for a root, for the trace id. */
    generateSpanId() {
        const seed = this.#next;
        this.#next = undefined;
        this.#trace = seed?.trace;
        return seed ? digest(SPAN_ID_DIGITS, 'span', seed.trace, seed.span) : random(SPAN_ID_DIGITS);
    }
    generateTraceId() {
        const identity = this.#trace;
        this.#trace = undefined;
        return identity === undefined ? random(TRACE_ID_DIGITS) : digest(TRACE_ID_DIGITS, 'trace', identity);
    }
}
