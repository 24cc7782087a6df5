import type { OtlpProtocol } from '../backends/backend-config.ts'
import { shownUrl } from '../backends/http-url.ts'
import type { DeliveryFailure } from './delivery.ts'
import type { Signal } from './endpoint.ts'

/** The facts of a backend that messages may contain. Nothing in them is secret once the URL has been stripped. */
export interface BackendFacts {
  readonly name: string
  readonly type: string
  readonly urls: Readonly<Partial<Record<Signal, string>>>
  /** The user has set the exact URLs. */
  readonly isExact?: boolean
  /** Undelivered spans stay in the trace log until they are delivered. */
  readonly isKept?: boolean
  /** For the trace log: no backend gets the spans. */
  readonly isOnly?: boolean
  readonly protocol: OtlpProtocol
  /** The configuration keys of its credentials, as the user writes them. */
  readonly credentials: string
  readonly defaultEndpoint: string | undefined
}

/** The class of a failure. Failures of one class have one cause and are reported once. */
export function failureClass(failure: DeliveryFailure): string {
  switch (failure.kind) {
    case 'status':
      return STATUS_CLASS[failure.status] ?? `status ${failure.status}`
    case 'network':
    case 'file':
      return `${failure.kind} ${failure.code}`
    default:
      return failure.kind
  }
}

/** The failure class of a URL with a wrong path. */
export const WRONG_PATH = 'status path'

const STATUS_CLASS: Readonly<Record<number, string>> = {
  401: 'status credentials',
  403: 'status credentials',
  404: WRONG_PATH,
  405: WRONG_PATH,
}

/** A short reason for the list of losses. */
export function lossReason(failure: DeliveryFailure): string {
  switch (failure.kind) {
    case 'status':
    case 'refused':
      return `it answered ${failure.status}`
    case 'network':
      return `it could not be reached (${failure.code})`
    case 'timeout':
      return 'it did not answer'
    case 'page':
      return 'it answered with a web page'
    case 'rejected':
      return 'it rejected them'
    case 'file':
      return `the file could not be written (${failure.code})`
    case 'header':
      return `a header cannot be sent (${failure.code})`
    case 'internal':
      return failure.reason
  }
}

/** One line: what went wrong, where, and what to do. */
export function describeFailure(facts: BackendFacts, signal: Signal, failure: DeliveryFailure): string {
  const isLog = facts.type === 'local_log' || facts.type === 'kept_log'
  const who = isLog ? 'trace log' : `backend ${facts.name}`
  return `${who}: ${sentence(facts, signal, failure)}`
}

function sentence(facts: BackendFacts, signal: Signal, failure: DeliveryFailure): string {
  const url = shown(facts.urls[signal] ?? '')
  switch (failure.kind) {
    case 'status':
      return statusSentence(facts, signal, url, failure.status, failure.location)
    case 'page':
      return `${url} answered with a web page, not as an OTLP endpoint; ${correctEndpoint(facts)}`
    case 'network':
      return networkSentence(facts, signal, url, failure.code)
    case 'timeout':
      return timeoutSentence(facts, signal, url, failure.afterMillis)
    case 'file':
      return fileSentence(facts, failure.path, failure.code)
    case 'rejected':
      return `${url} took a request but rejected some of its ${signal}; its own log says why`
    case 'refused':
      return `${url} answered ${failure.status} to single spans, which are left out; the others arrive. Its own log says why`
    case 'header':
      return `its ${signal} cannot be sent (${failure.code}): look for line breaks in its headers and keys`
    case 'internal':
      return `its ${signal} were not sent: ${failure.reason}`
  }
}

function statusSentence(
  facts: BackendFacts,
  signal: Signal,
  url: string,
  status: number,
  location: string | undefined,
): string {
  const answered = `${url} answered ${status}`
  if (status === 401 || status === 403) return `${answered}: it refuses the credentials. Set ${facts.credentials}`
  if (status === 404 || status === 405)
    return `${answered}: nothing takes OTLP ${signal} there. ${pathAdvice(facts, signal)}`
  if (signal === 'logs' && (status === 400 || status === 415))
    return `${answered}: it does not take logs as http/json, and there are no others. Set logs: false`
  if (status === 413)
    return `${answered}: the request is too large. Lower span_batch_max_export_batch_size or content_max_chars`
  if (status === 415)
    return `${answered}: it does not take ${facts.protocol}. Set protocol: ${otherProtocol(facts.protocol)}`
  if (status === 400) return `${answered}: it cannot read the ${signal}. Try protocol: ${otherProtocol(facts.protocol)}`
  if (status === 429)
    return `${answered}: it takes no more for now (rate limit or quota); meanwhile ${fate(facts, signal)}`
  if (status >= 500) return `${answered}: the server has a problem of its own; meanwhile ${fate(facts, signal)}`
  if (status >= 300 && status < 400)
    return `${answered}: it redirects${target(location)}. Set endpoint to the final URL`
  return `${answered}, which is not a success; ${correctEndpoint(facts)}`
}

function timeoutSentence(facts: BackendFacts, signal: Signal, url: string, afterMillis: number): string {
  if (facts.urls[signal] === undefined)
    return `what is written was not on the disk after ${afterMillis} ms; until it is, ${fate(facts, signal)}`
  return `${url} did not answer within ${afterMillis} ms. Check the backend, or raise timeout_ms; until it answers, ${fate(facts, signal)}`
}

function target(location: string | undefined): string {
  return location === undefined ? '' : ` to ${location.startsWith('http') ? shown(location) : 'another path'}`
}

function pathAdvice(facts: BackendFacts, signal: Signal): string {
  const off = signal === 'traces' ? '' : `, or ${signal}: false if it takes traces and no ${signal}`
  const given = facts.isExact ? 'is used as it is and usually' : 'is a base URL or'
  return `The endpoint ${given} ends in /v1/${signal}; ${correctEndpoint(facts)}${off}`
}

function correctEndpoint(facts: BackendFacts): string {
  const usual = facts.defaultEndpoint
  return usual === undefined ? 'correct endpoint' : `correct endpoint (usual for ${facts.type}: ${shown(usual)})`
}

function otherProtocol(protocol: OtlpProtocol): OtlpProtocol {
  return protocol === 'http/json' ? 'http/protobuf' : 'http/json'
}

const NETWORK: Readonly<Record<string, (facts: BackendFacts, url: string, fate: string) => string>> = {
  ECONNREFUSED: (facts, url, fate) =>
    `nothing listens at ${url}. Start it, or ${correctEndpoint(facts)}; until then ${fate}`,
  ENOTFOUND: (facts, url) => `the host of ${url} is not known. ${capital(correctEndpoint(facts))}`,
  EAI_AGAIN: (_facts, url) => `the host of ${url} could not be looked up. Check the network and the name server`,
  ECONNRESET: (_facts, url) =>
    `${url} closed the connection without an answer. Check that it is an OTLP/HTTP endpoint and that it is well${url.startsWith('https:') ? ', and client_certificate if it asks for one' : ''}`,
  EPROTO: (_facts, url) =>
    `${url} does not speak TLS. Set endpoint to the http:// URL, or client_certificate if it asks for one`,
  ETIMEDOUT: (_facts, url) => `no connection to ${url}. Check the address, the network and the firewall`,
}

const SAME_AS: Readonly<Record<string, string>> = {
  EPIPE: 'ECONNRESET',
  EHOSTUNREACH: 'ETIMEDOUT',
  ENETUNREACH: 'ETIMEDOUT',
  ERR_SSL_WRONG_VERSION_NUMBER: 'EPROTO',
}

function networkSentence(facts: BackendFacts, signal: Signal, url: string, code: string): string {
  const known = NETWORK[SAME_AS[code] ?? code]
  if (known) return `${known(facts, url, fate(facts, signal))} (${code})`
  // Parser errors of node:http: the response is not HTTP/1.1.
  if (code.startsWith('HPE_'))
    return `${url} answers, but not in HTTP (${code}): 4317 is the port of OTLP/gRPC, 4318 the one of OTLP/HTTP`
  // TLS alerts of the peer. Checked before the next condition, because their codes may contain CERT.
  if (code.includes('_ALERT_'))
    return `${url} ended the TLS handshake (${code}): it wants a certificate that it knows. Set client_certificate and client_key, or correct them`
  if (/CERT|SIGNATURE|ISSUER|TLS|SSL/.test(code))
    return `the certificate of ${url} is not trusted (${code}). Correct it, or set certificate to the file of its authority`
  return `${url} cannot be reached (${code}); ${correctEndpoint(facts)}`
}

const FILE: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'it may not be written',
  EPERM: 'it may not be written',
  ENOENT: 'the directory is missing and cannot be made',
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'a part of the path is not a directory',
  ETIMEDOUT: 'the disk does not answer',
  ELOOP: 'it is a symbolic link',
  ENXIO: 'it is a pipe that nobody reads',
  ENOTPRIVATE: 'others may write there',
}

const FILE_REMEDY: Readonly<Record<string, string>> = {
  ENOSPC: 'Free some space on that disk',
  EDQUOT: 'Free some space there',
  ENOTPRIVATE: 'Make it yours alone (chmod 700)',
}

function fileSentence({ type, isKept, isOnly }: BackendFacts, path: string, code: string): string {
  const problem = `cannot write ${path}: ${FILE[code] ?? 'writing failed'} (${code}). ${FILE_REMEDY[code] ?? 'Make it writable'}`
  if (type === 'local_log') {
    const fate = isOnly ? 'not stored' : 'delivered from memory, and not stored on this machine'
    return `${problem}; until then traces are ${fate}`
  }
  if (type === 'kept_log')
    return `${problem}; until then turns that are kept are sent from memory, and a backend that is down does not get them later`
  const fate = isKept ? 'kept in the trace log' : 'dropped'
  return `${problem} or choose another path; until then its spans are ${fate}, other backends go on`
}

/** The fate of undelivered data. Always includes traces: a cause is reported once, for the first signal that hits it. */
function fate(facts: BackendFacts, signal: Signal): string {
  const isOther = signal !== 'traces' && facts.urls.traces !== undefined
  return (isOther ? (['traces', signal] as const) : [signal])
    .map(each => `its ${each} are ${fateOf(facts, each)}`)
    .join(', and ')
}

function fateOf({ isKept }: BackendFacts, signal: Signal): string {
  if (signal === 'logs') return 'kept in memory, up to a limit, until the process ends'
  return isKept && signal === 'traces' ? 'kept in the trace log, and sent later' : 'dropped'
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

function shown(href: string): string {
  return shownUrl(href) ?? '(not a URL)'
}
