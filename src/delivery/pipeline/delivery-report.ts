import type { OtlpProtocol } from '../backends/backend-config.ts'
import { shownUrl } from '../backends/http-url.ts'
import { type DeliveryFailure, NOT_HTTP2, type Signal } from './delivery.ts'
import type { Reporter } from './settings.ts'

/** If a backend fails and recovers repeatedly, each cause is reported at most this often. */
const REPEAT_AFTER_MILLIS = 60_000
const OVERFLOW = 'overflow'

export class DeliveryReport {
  readonly name: string
  readonly #facts: BackendFacts
  readonly #report: Reporter
  readonly #streaks = new Map<Signal, { lost: number; isWarned: boolean }>()
  readonly #warned = new Set<string>()
  readonly #warnedAt = new Map<string, number>()
  #overflowed = 0
  lastError: string | undefined

  constructor(facts: BackendFacts, report: Reporter) {
    this.name = facts.name
    this.#facts = facts
    this.#report = report
  }

  failed(signal: Signal, failure: DeliveryFailure, lost: number): void {
    const line = describeFailure(this.#facts, signal, failure)
    this.lastError = line
    this.#report.debug(`${line} [${lost} lost]`)
    const isSaid = this.#warnFailure(signal, failureClass(failure), line)
    // The backend accepts other spans, so it is not failing.
    if (failure.kind === 'rejected' || failure.kind === 'refused') return
    const streak = this.#streaks.get(signal) ?? { lost: 0, isWarned: false }
    this.#streaks.set(signal, streak)
    streak.lost += lost
    streak.isWarned ||= isSaid
  }

  delivered(signal: Signal): void {
    const streak = this.#streaks.get(signal)
    if (!streak) return
    this.#streaks.delete(signal)
    // An overflow ends only when the queue is empty: see `caughtUp`.
    if (this.#streaks.size === 0) for (const cause of this.#warned) if (cause !== OVERFLOW) this.#warned.delete(cause)
    if (!streak.isWarned) return
    this.#report.warn(this.#recoveryLine(signal, streak.lost))
  }

  #recoveryLine(signal: Signal, lost: number): string {
    const { name, type, isKept } = this.#facts
    if (type === 'local_log') return `trace log: it can be written again; ${missing(lost)}`
    if (type === 'kept_log') {
      // The trace log has all spans.
      const again = 'trace log: kept traces can be written again'
      return lost === 0 ? again : `${again}; ${count(lost, 'span of it was', 'spans of it were')} only sent from memory`
    }
    const again = `backend ${name}: ${signal} arrive again`
    if (signal === 'logs' && lost > 0) return `${again}; ${count(lost, 'event was', 'events were')} lost`
    if (signal !== 'traces') return again
    if (lost > 0) return `${again}; ${count(lost, 'span was', 'spans were')} lost`
    return isKept ? `${again}; its pending spans are sent now` : again
  }

  overflowed(waiting: number, lost: number): void {
    const isFirst = this.#overflowed === 0
    this.#overflowed += lost
    if (!isFirst) return
    this.#warnOnce(
      OVERFLOW,
      `backend ${this.#facts.name}: ${waiting} spans are waiting for it, and further ones are dropped until it has caught up; raise span_batch_max_queue_size if that happens often`,
    )
  }

  lostAtShutdown(lost: number): void {
    const { name, isKept } = this.#facts
    const advice = isKept ? '' : '; local_log: true keeps them for later, a longer force_flush_wait_ms sends more'
    this.#warnOnce(
      'too late',
      `backend ${name}: ${count(lost, 'span was', 'spans were')} lost, because the process ended before they were sent${advice}`,
    )
  }

  /** Reports the cost of a failure that lasts until the process ends, if no backend has got the spans. */
  reportUnstored(): void {
    const lost = this.#streaks.get('traces')?.lost ?? 0
    this.#streaks.clear()
    if (this.#facts.isOnly && lost > 0) this.#report.warn(`trace log: ${missing(lost)}`)
  }

  caughtUp(): void {
    if (this.#overflowed === 0) return
    const dropped = count(this.#overflowed, 'span was', 'spans were')
    this.#overflowed = 0
    if (this.#warned.delete(OVERFLOW)) {
      this.#report.warn(`backend ${this.#facts.name}: has caught up; ${dropped} dropped in the meantime`)
    }
  }

  /** A wrong path may be wrong for one signal only. After a report for metrics, traces are still reported. */
  #warnFailure(signal: Signal, cause: string, line: string): boolean {
    if (cause !== WRONG_PATH || signal === 'traces') return this.#warnOnce(cause, line)
    return !this.#warned.has(cause) && this.#warnOnce(`${cause} of ${signal}`, line)
  }

  #warnOnce(cause: string, line: string): boolean {
    if (this.#warned.has(cause)) return false
    if (performance.now() - (this.#warnedAt.get(cause) ?? Number.NEGATIVE_INFINITY) < REPEAT_AFTER_MILLIS) return false
    this.#warned.add(cause)
    this.#warnedAt.set(cause, performance.now())
    this.#report.warn(line)
    return true
  }
}

function missing(lost: number): string {
  return `${count(lost, 'span is', 'spans are')} not in it`
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`
}

/** The facts of a backend that messages may contain. Nothing in them is secret once the URL has been stripped. */
export interface BackendFacts {
  readonly name: string
  readonly type: string
  readonly urls: Readonly<Partial<Record<Signal, string>>>
  readonly isExact?: boolean
  readonly isKept?: boolean
  /** For the trace log: no backend gets the spans. */
  readonly isOnly?: boolean
  readonly protocol: OtlpProtocol
  readonly credentials: string
  readonly defaultEndpoint: string | undefined
}

/** Failures of one class have one cause and are reported once. */
export function failureClass(failure: DeliveryFailure): string {
  if (failure.kind === 'status') return STATUS_CLASS[failure.status] ?? `status ${failure.status}`
  return failure.kind === 'network' || failure.kind === 'file' ? `${failure.kind} ${failure.code}` : failure.kind
}

const WRONG_PATH = 'status path'

const STATUS_CLASS: Readonly<Record<number, string>> = {
  401: 'status credentials',
  403: 'status credentials',
  404: WRONG_PATH,
  405: WRONG_PATH,
}

type FailureKind = DeliveryFailure['kind']
type FailureOf<Kind extends FailureKind> = Extract<DeliveryFailure, { readonly kind: Kind }>

const LOSS_REASONS: { readonly [Kind in FailureKind]: (failure: FailureOf<Kind>) => string } = {
  status: ({ status, grpc }) => `it answered ${grpc ?? status}`,
  refused: ({ status, grpc }) => `it answered ${grpc ?? status}`,
  network: ({ code }) => `it could not be reached (${code})`,
  timeout: () => 'it did not answer',
  page: () => 'it answered with a web page',
  rejected: () => 'it rejected them',
  file: ({ code }) => `the file could not be written (${code})`,
  header: ({ code }) => `a header cannot be sent (${code})`,
  command: ({ reason }) => `headers_command ${reason}`,
  internal: ({ reason }) => reason,
}

export function lossReason(failure: DeliveryFailure): string {
  return LOSS_REASONS[failure.kind](failure as never)
}

export function describeFailure(facts: BackendFacts, signal: Signal, failure: DeliveryFailure): string {
  const isLog = facts.type === 'local_log' || facts.type === 'kept_log'
  const who = isLog ? 'trace log' : `backend ${facts.name}`
  return `${who}: ${sentence(facts, signal, failure)}`
}

function sentence(facts: BackendFacts, signal: Signal, failure: DeliveryFailure): string {
  const url = shown(facts.urls[signal] ?? '')
  switch (failure.kind) {
    case 'status':
      return statusSentence(failure, facts, signal, url)
    case 'page':
      return `${url} answered with a web page, not as an OTLP endpoint; ${correctEndpoint(facts)}`
    case 'network':
      return networkSentence(facts, signal, url, failure.code)
    case 'timeout':
      return timeoutSentence(facts, signal, url, failure.afterMillis)
    case 'file':
      return fileSentence(facts, failure.path, failure.code)
    case 'rejected':
      return `${url} accepted a request but rejected some of its ${signal}; see the log of the backend`
    case 'refused':
      return `${url} answered ${failure.grpc ?? failure.status} to single spans, which are dropped; the others arrive. See the log of the backend`
    case 'header':
      return `its ${signal} cannot be sent (${failure.code}): look for line breaks in its headers and keys`
    case 'command':
      return `headers_command ${failure.reason}. Run it by hand; until it works, ${fate(facts, signal)}`
    case 'internal':
      return `its ${signal} were not sent: ${failure.reason}`
  }
}

function statusSentence(
  { status, grpc, location }: FailureOf<'status'>,
  facts: BackendFacts,
  signal: Signal,
  url: string,
): string {
  const answered = `${url} answered ${grpc ?? status}`
  if (status === 401 || status === 403) return `${answered}: it refuses the credentials. Set ${facts.credentials}`
  if (grpc !== undefined && status === 404)
    return `${answered}: it takes no ${signal} over gRPC, or not with this compression. ${capital(correctEndpoint(facts))}, or compression${offAdvice(signal)}`
  if (status === 404 || status === 405)
    return `${answered}: there is no OTLP endpoint for ${signal}. ${pathAdvice(facts, signal)}`
  if (signal === 'logs' && grpc === undefined && (status === 400 || status === 415))
    return `${answered}: it does not take logs as http/json, and there are no others. Set logs: false`
  if (status === 413)
    return `${answered}: the request is too large. Lower span_batch_max_export_batch_size or content_max_chars`
  if (status === 415)
    return `${answered}: it does not take ${facts.protocol}. Set protocol: ${otherProtocol(facts.protocol)}`
  if (status === 400) return `${answered}: it cannot read the ${signal}. Try protocol: ${otherProtocol(facts.protocol)}`
  if (status === 429) return `${answered}: its rate limit or quota is reached; meanwhile ${fate(facts, signal)}`
  if (status >= 500) return `${answered}: the server failed; meanwhile ${fate(facts, signal)}`
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
  const given = facts.isExact ? 'is used as it is and usually' : 'is a base URL or'
  return `The endpoint ${given} ends in /v1/${signal}; ${correctEndpoint(facts)}${offAdvice(signal)}`
}

function offAdvice(signal: Signal): string {
  return signal === 'traces' ? '' : `, or ${signal}: false if it takes traces and no ${signal}`
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
  ECONNRESET: ({ protocol }, url) =>
    `${url} closed the connection without an answer. Check that it is an OTLP/${protocol === 'grpc' ? 'gRPC' : 'HTTP'} endpoint and that it is well${url.startsWith('https:') ? ', and client_certificate if it asks for one' : ''}`,
  EPROTO: (_facts, url) =>
    `${url} does not speak TLS. Set endpoint to the http:// URL, or client_certificate if it asks for one`,
  ETIMEDOUT: (_facts, url) => `no connection to ${url}. Check the address, the network and the firewall`,
}

const PORTS = '4317 is the port of OTLP/gRPC (protocol: grpc), 4318 the one of OTLP/HTTP'

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
  if (code.startsWith('HPE_')) return `${url} answers, but not in HTTP (${code}): ${PORTS}`
  if (code === NOT_HTTP2 || code.includes('NO_APPLICATION_PROTOCOL'))
    return `${url} answers, but not in HTTP/2 (${code}): ${PORTS}`
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
  ENOTPRIVATE: 'other users can write there',
}

const FILE_REMEDY: Readonly<Record<string, string>> = {
  ENOSPC: 'Free some space on that disk',
  EDQUOT: 'Free some space there',
  ENOTDIR: 'Choose a path of directories',
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
