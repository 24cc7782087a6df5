const NONE = {};
const KNOWN_LIMIT = 100;
const known = new Map();
function parse(baseUrl) {
    if (!URL.canParse(baseUrl))
        return NONE;
    const { hostname, port, protocol } = new URL(baseUrl);
    if (hostname === '')
        return NONE;
    return { address: hostname, port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port) };
}
/** Host and port of a base URL; empty when it is none. An agent uses a handful of URLs, so each is parsed once. */
export function serverAddress(baseUrl) {
    if (typeof baseUrl !== 'string' || baseUrl.length > 2048)
        return NONE;
    let found = known.get(baseUrl);
    if (found === undefined) {
        if (known.size >= KNOWN_LIMIT)
            known.clear();
        found = parse(baseUrl);
        known.set(baseUrl, found);
    }
    return found;
}
