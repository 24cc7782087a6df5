import { literal } from './capture.js';
import { errorFacts, OTHER_ERROR } from './error-facts.js';
import { positive, textOf } from './foreign.js';
/** Epoch seconds of the host → milliseconds. */
export function millis(seconds) {
    const value = positive(seconds);
    return value === undefined ? undefined : value * 1000;
}
/** Seconds from this attempt's own start to its first chunk; a negative one belongs to another attempt. */
export function timeToFirstChunk(payload, opened) {
    const firstChunkAt = millis(payload.first_chunk_at);
    if (firstChunkAt === undefined || opened.start === undefined || firstChunkAt < opened.startAt)
        return undefined;
    return (firstChunkAt - opened.startAt) / 1000;
}
export function apiErrorType(payload, draw) {
    return draw.capture.id(errorFacts(payload.error).type ?? textOf(payload.reason)) ?? literal(OTHER_ERROR);
}
