import { readPairs } from './collections.js';
import { emptyMap, isPlainMap } from './plain.js';
import { refuse, report } from './reading.js';
import { isScalar } from './scalars.js';
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// What node:http refuses, at the first request instead of here.
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** A mapping, or `name=value,…`. Neither a name nor a value is ever part of a message. */
export function readHeaders(value, site) {
    const entries = typeof value === 'string' ? readPairs(value, site) : value;
    if (!isPlainMap(entries))
        return refuse(value, 'a mapping of names to texts', true);
    const headers = emptyMap();
    for (const [name, entry] of Object.entries(entries)) {
        if (entry === undefined)
            continue;
        const fault = headerFault(name, entry);
        if (fault === undefined)
            headers[name.toLowerCase()] = String(entry).trim();
        else
            report(site, fault, 'leaving the header out');
    }
    return { value: headers };
}
function headerFault(name, value) {
    if (!HEADER_NAME.test(name))
        return 'the name of a header holds characters that HTTP does not allow';
    if (!isScalar(value))
        return refuse(value, 'text', true).reason;
    return HEADER_VALUE.test(String(value).trim()) ? undefined : 'a header holds characters that HTTP does not allow';
}
