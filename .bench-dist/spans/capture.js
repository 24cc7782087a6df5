/**
 * What may leave the process. A string reaches a span only as `SafeText`, and only a `Capture` (or `literal`, for our
 * own constants) makes one: a payload string that was not clipped and redacted does not type-check as an attribute.
 */
/** For our own constants only, never for anything out of a payload. */
export function literal(constant) {
    return constant;
}
