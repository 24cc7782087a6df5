/**
 * Reading values that belong to somebody else. A getter or a Proxy trap of the host can throw at any property; one bad
 * field must not cost the span its other attributes, so this file may catch (like `bounded-json.ts`).
 */
/** The property, or undefined when the value is not an object or reading it throws. */
export function peek(value, key) {
    if (typeof value !== 'object' || value === null)
        return undefined;
    try {
        return value[key];
    }
    catch {
        return undefined;
    }
}
/** Text with something in it, else undefined. */
export function textOf(value) {
    return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
/** Ids are kept as keys: a host that puts a document into one must not make us keep the document. */
const KEY_LIMIT = 512;
/** An id as a key: text or a number; undefined where absent, blank or no id at all. */
export function idOf(value) {
    if (typeof value === 'string')
        return value === '' ? undefined : value.slice(0, KEY_LIMIT);
    return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined;
}
/** A finite number, also out of numeric text; booleans, garbage, NaN and infinities are undefined. */
export function numberOf(value) {
    if (typeof value === 'number')
        return Number.isFinite(value) ? value : undefined;
    if (typeof value === 'bigint')
        return Number(value);
    if (typeof value !== 'string' || value.length > 32 || value.trim() === '')
        return undefined;
    const parsed = Number(value);
    return Number.isFinite(parsed) ? parsed : undefined;
}
/** A finite number that is above zero. */
export function positive(value) {
    const number = numberOf(value);
    return number !== undefined && number > 0 ? number : undefined;
}
export function booleanOf(value) {
    return typeof value === 'boolean' ? value : undefined;
}
/** Array elements, at most `limit` of them; none when the value is not an array. */
export function elementsOf(value, limit) {
    return Array.isArray(value) ? value.slice(0, limit) : [];
}
