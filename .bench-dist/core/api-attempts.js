import { numberOf } from '../spans/foreign.js';
/** Distinct requests of one turn whose attempts are numbered; a turn with more starts to number anew. */
const REQUESTS_LIMIT = 10_000;
/**
 * The attempt that a start begins, from 0: the host's `retry_count`, or our own ordinal where it repeats one, because
 * several hosts send the same id for every attempt.
 */
export function nextAttempt(turn, key, payload) {
    const last = turn.attempts.get(key);
    const said = numberOf(payload.retry_count) ?? 0;
    const attempt = last === undefined ? said : Math.max(said, last + 1);
    if (turn.attempts.size >= REQUESTS_LIMIT)
        turn.attempts.clear();
    turn.attempts.set(key, attempt);
    return attempt;
}
/** Whether an end may close this attempt: an end that names another attempt came late for one that is gone. */
export function isEndOf(open, payload) {
    const said = numberOf(payload.retry_count);
    const started = numberOf(open.start?.retry_count);
    return said === undefined || started === undefined || said === started;
}
/** Whether an end tells of an attempt before the one that is remembered, whose own end has been told already. */
export function isOfEarlierAttempt(payload, { attempt }) {
    const said = numberOf(payload.retry_count);
    return said !== undefined && said < attempt;
}
