import { shownUrl } from './endpoint.js';
/** Failures of one class have one cause and are said once. */
export function failureClass(failure) {
    switch (failure.kind) {
        case 'status':
            return `status ${STATUS_CLASS[failure.status] ?? failure.status}`;
        case 'network':
        case 'file':
            return `${failure.kind} ${failure.code}`;
        default:
            return failure.kind;
    }
}
const STATUS_CLASS = {
    401: 'credentials',
    403: 'credentials',
    404: 'path',
    405: 'path',
};
/** One line: what went wrong, where, and what to do about it. */
export function describeFailure(facts, signal, failure) {
    return `backend ${facts.name}: ${sentence(facts, signal, failure)}`;
}
function sentence(facts, signal, failure) {
    const url = shownUrl(facts.urls[signal] ?? '');
    switch (failure.kind) {
        case 'status':
            return statusSentence(facts, signal, url, failure.status, failure.location);
        case 'page':
            return `${url} answered with a web page, not as an OTLP endpoint; ${correctEndpoint(facts)}`;
        case 'network':
            return networkSentence(facts, url, failure.code);
        case 'timeout':
            return `${url} did not answer within ${failure.afterMillis} ms; its ${signal} are dropped until it does. Check the backend, or raise timeout_ms`;
        case 'file':
            return fileSentence(failure.path, failure.code);
        case 'rejected':
            return `${url} took a request but rejected some of its ${signal}; its own log says why`;
        case 'header':
            return `its ${signal} cannot be sent (${failure.code}): look for line breaks in its headers and keys`;
        case 'internal':
            return `its ${signal} were not sent: ${failure.reason}`;
    }
}
function statusSentence(facts, signal, url, status, location) {
    const answered = `${url} answered ${status}`;
    if (status === 401 || status === 403)
        return `${answered}: it refuses the credentials. Set ${facts.credentials}`;
    if (status === 404 || status === 405)
        return `${answered}: nothing takes OTLP ${signal} there. ${pathAdvice(facts, signal)}`;
    if (status === 413)
        return `${answered}: the request is too large. Lower span_batch_max_export_batch_size or content_max_chars`;
    if (status === 415)
        return `${answered}: it does not take ${facts.protocol}. Set protocol: ${otherProtocol(facts.protocol)}`;
    if (status === 400)
        return `${answered}: it cannot read the ${signal}. Try protocol: ${otherProtocol(facts.protocol)}`;
    if (status === 429)
        return `${answered}: it takes no more for now (rate limit or quota); what it does not take is dropped`;
    if (status >= 500)
        return `${answered}: the server has a problem of its own; what it does not take is dropped`;
    if (status >= 300 && status < 400)
        return `${answered}: it redirects${target(location)}. Set endpoint to the final URL`;
    return `${answered}, which is not a success; ${correctEndpoint(facts)}`;
}
function target(location) {
    return location === undefined ? '' : ` to ${location.startsWith('http') ? shownUrl(location) : 'another path'}`;
}
function pathAdvice(facts, signal) {
    const off = signal === 'metrics' ? ', or metrics: false if it takes none' : '';
    const given = facts.isExact ? 'is used as it is and usually' : 'is a base URL or';
    return `The endpoint ${given} ends in /v1/${signal}; ${correctEndpoint(facts)}${off}`;
}
function correctEndpoint(facts) {
    const usual = facts.defaultEndpoint;
    return usual === undefined ? 'correct endpoint' : `correct endpoint (usual for ${facts.type}: ${shownUrl(usual)})`;
}
function otherProtocol(protocol) {
    return protocol === 'http/json' ? 'http/protobuf' : 'http/json';
}
const NETWORK = {
    ECONNREFUSED: (facts, url) => `nothing listens at ${url}. Start it, or ${correctEndpoint(facts)}; until then what is recorded for it is dropped`,
    ENOTFOUND: (facts, url) => `the host of ${url} is not known. ${capital(correctEndpoint(facts))}`,
    EAI_AGAIN: (_facts, url) => `the host of ${url} could not be looked up. Check the network and the name server`,
    ECONNRESET: (_facts, url) => `${url} closed the connection without an answer. Check that it is an OTLP/HTTP endpoint and that it is well`,
    EPROTO: (_facts, url) => `${url} does not speak TLS. Set endpoint to the http:// URL`,
    ETIMEDOUT: (_facts, url) => `no connection to ${url}. Check the address, the network and the firewall`,
};
const SAME_AS = {
    EPIPE: 'ECONNRESET',
    EHOSTUNREACH: 'ETIMEDOUT',
    ENETUNREACH: 'ETIMEDOUT',
    ERR_SSL_WRONG_VERSION_NUMBER: 'EPROTO',
};
function networkSentence(facts, url, code) {
    const known = NETWORK[SAME_AS[code] ?? code];
    if (known)
        return `${known(facts, url)} (${code})`;
    // The parser of node:http: what answered is not HTTP/1.1.
    if (code.startsWith('HPE_'))
        return `${url} answers, but not in HTTP (${code}): 4317 is the port of OTLP/gRPC, 4318 the one of OTLP/HTTP`;
    if (/CERT|SIGNATURE|ISSUER|TLS|SSL/.test(code))
        return `the certificate of ${url} is not trusted (${code}). Correct it, or set certificate to the file of its authority`;
    return `${url} cannot be reached (${code}); ${correctEndpoint(facts)}`;
}
const FILE = {
    ENOSPC: 'the disk is full',
    EDQUOT: 'the quota is used up',
    EROFS: 'the file system is read-only',
    EACCES: 'it may not be written',
    EPERM: 'it may not be written',
    ENOENT: 'the directory is missing and cannot be made',
    ENOTDIR: 'a part of the path is not a directory',
};
function fileSentence(path, code) {
    return `cannot write ${path}: ${FILE[code] ?? 'writing failed'} (${code}). Make it writable or choose another path; until then its spans are dropped, other backends go on`;
}
function capital(text) {
    return text.slice(0, 1).toUpperCase() + text.slice(1);
}
