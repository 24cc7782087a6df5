import { emptyMap } from './plain.js';
/** OpenTelemetry's form of a mapping in one variable: `name=value,name=value`, names and values percent-encoded. */
export function parsePairs(text) {
    const pairs = emptyMap();
    const faults = [];
    for (const [index, entry] of text.split(',').entries()) {
        if (entry.trim() === '')
            continue;
        const pair = parsePair(entry);
        if (pair)
            pairs[pair.name] = pair.value;
        else
            faults.push(index);
    }
    return { pairs, faults };
}
function parsePair(entry) {
    const equals = entry.indexOf('=');
    if (equals < 0)
        return undefined;
    try {
        const name = decodeURIComponent(entry.slice(0, equals).trim());
        return name === '' ? undefined : { name, value: decodeURIComponent(entry.slice(equals + 1).trim()) };
    }
    catch {
        // decodeURIComponent throws on a stray % or on bytes that are not UTF-8.
        return undefined;
    }
}
