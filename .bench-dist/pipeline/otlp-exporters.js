import { transformer } from './sdk.js';
export const CONTENT_TYPES = {
    'http/json': 'application/json',
    'http/protobuf': 'application/x-protobuf',
};
/** Spans as OTLP requests of our own making, carried over HTTP or into a file. */
export class OtlpSpanSink {
    #carrier;
    #serializer;
    constructor(protocol, carrier) {
        const { JsonTraceSerializer, ProtobufTraceSerializer } = transformer();
        this.#serializer = protocol === 'http/json' ? JsonTraceSerializer : ProtobufTraceSerializer;
        this.#carrier = carrier;
    }
    async export(spans, signal) {
        const payload = serialize(() => this.#serializer.serializeRequest([...spans]));
        if (!payload.ok)
            return { lost: spans.length, failure: payload.failure };
        return spanDelivery(await this.#carrier.deliver(payload.bytes, signal), spans.length, this.#serializer);
    }
    close() {
        return this.#carrier.close();
    }
}
/** What a delivery means for the spans in it: a server may take the request and still reject some of them. */
export function spanDelivery(delivery, spans, serializer) {
    if (!delivery.ok)
        return { lost: spans, failure: delivery.failure };
    const rejected = readAnswer(delivery, answer => serializer.deserializeResponse(answer).partialSuccess?.rejectedSpans);
    const lost = Math.min(rejected, spans);
    return lost > 0 ? { lost, failure: { kind: 'rejected' } } : { lost: 0 };
}
/** Metrics as OTLP requests. */
export class OtlpMetricSink {
    #carrier;
    #serializer;
    constructor(protocol, carrier) {
        const { JsonMetricsSerializer, ProtobufMetricsSerializer } = transformer();
        this.#serializer = protocol === 'http/json' ? JsonMetricsSerializer : ProtobufMetricsSerializer;
        this.#carrier = carrier;
    }
    serialize(metrics) {
        const payload = serialize(() => this.#serializer.serializeRequest(metrics));
        return payload.ok ? payload.bytes : payload.failure;
    }
    /** Undefined = taken whole. Never rejects. */
    async send(payload, signal) {
        const delivery = await this.#carrier.deliver(payload, signal);
        if (!delivery.ok)
            return delivery.failure;
        const rejected = readAnswer(delivery, answer => this.#serializer.deserializeResponse(answer).partialSuccess?.rejectedDataPoints);
        return rejected > 0 ? { kind: 'rejected' } : undefined;
    }
    close() {
        return this.#carrier.close();
    }
}
export const UNSERIALISABLE = { kind: 'internal', reason: 'they cannot be serialised' };
function serialize(write) {
    try {
        const bytes = write();
        if (bytes)
            return { ok: true, bytes };
    }
    catch {
        // Falls through: what matters is that the batch is counted as lost.
    }
    return { ok: false, failure: UNSERIALISABLE };
}
/** Many servers answer with nothing, or with something of their own: then nothing was rejected. */
function readAnswer(delivery, read) {
    if (!delivery.ok || !delivery.answer || delivery.answer.byteLength === 0)
        return 0;
    try {
        // OTLP/JSON writes 64-bit numbers as text.
        const count = Number(read(delivery.answer) ?? 0);
        return Number.isFinite(count) ? count : 0;
    }
    catch {
        return 0;
    }
}
