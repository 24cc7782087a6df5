const SIGNAL_PATH = /\/v1\/(?:traces|metrics|logs)$/;
function parse(endpoint) {
    if (!/^https?:\/\//i.test(endpoint))
        return undefined;
    try {
        return new URL(endpoint);
    }
    catch {
        return undefined;
    }
}
function basePath(url) {
    return url.pathname.replace(/\/+$/, '').replace(SIGNAL_PATH, '');
}
/**
 * The URL that takes a signal. The endpoint may be a base URL or the full URL of any signal, with or without a slash
 * at its end: `/v1/traces` is appended exactly when it is missing. Undefined when it is no http or https URL.
 */
export function signalUrl(endpoint, signal) {
    const url = parse(endpoint);
    if (!url)
        return undefined;
    url.pathname = `${basePath(url)}/v1/${signal}`;
    return url.href;
}
/** The URL exactly as it is given; without a path its root. Undefined when it is no http or https URL. */
export function exactUrl(endpoint) {
    return parse(endpoint)?.href;
}
/** The same endpoint without a signal's path, query and credentials; no slash at its end. */
export function baseUrl(endpoint) {
    const url = parse(endpoint);
    return url && `${url.origin}${basePath(url)}`;
}
/** The URL as it may be shown: credentials and query, where keys are sometimes put, are left out. */
export function shownUrl(href) {
    const url = parse(href);
    return url ? `${url.origin}${url.pathname}` : '(not a URL)';
}
