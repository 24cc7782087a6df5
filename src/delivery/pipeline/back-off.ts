import { UNSERIALISABLE } from '../trace-log/index.ts'
import { type DeliveryFailure, NOT_HTTP2 } from './delivery.ts'

const FIRST_MILLIS = 1000
const MAX_MILLIS = 60_000
/** Pause after a failure that only the user can fix. It is retried, because the user may have fixed it. */
const UNTIL_MENDED_MILLIS = 300_000
const MAX_ASKED_MILLIS = 3_600_000

export type BackOffReason = 'unreachable' | 'unwell' | 'silent' | 'asked' | 'misconfigured'

/** `later`: the backend cannot accept the spans now. `refused`: it may accept a part of them. */
type FailureVerdict = { readonly kind: 'later'; readonly reason: BackOffReason } | { readonly kind: 'refused' }

/** Statuses that the OTLP specification defines as retryable, and 408. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])
const MISCONFIGURED: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 406, 407, 415])
/** If a server fails this often on the same spans, they are the cause. */
const MAX_ERRORS = 5

/** The pause of a backend that does not accept data. Times are those of `performance.now()`. */
export class BackOff {
  readonly #scale: number
  #failures = 0
  #until = 0
  #reason: BackOffReason | undefined

  /** @param scale factor of all pauses, for tests */
  constructor(scale = 1) {
    this.#scale = scale
  }

  get isActive(): boolean {
    return performance.now() < this.#until
  }

  get reason(): BackOffReason | undefined {
    return this.#reason
  }

  remainingMillis(): number {
    return Math.max(0, this.#until - performance.now())
  }

  failed(reason: BackOffReason, askedMillis = 0): void {
    this.#failures++
    this.#reason = askedMillis > 0 ? 'asked' : reason
    const own = reason === 'misconfigured' ? UNTIL_MENDED_MILLIS : FIRST_MILLIS * 2 ** Math.min(this.#failures - 1, 10)
    const most = reason === 'misconfigured' ? UNTIL_MENDED_MILLIS : MAX_MILLIS
    // Jitter: many processes that saw the same outage must not retry at the same moment.
    const jittered = Math.min(own, most) * (0.75 + Math.random() * 0.5) * this.#scale
    this.#until = performance.now() + Math.max(jittered, Math.min(askedMillis, MAX_ASKED_MILLIS))
  }

  succeeded(): void {
    this.#failures = 0
    this.#until = 0
    this.#reason = undefined
  }

  /**
   * Allows one last attempt before the process ends. An unreachable server may be back, and trying takes a moment. One that
   * is unwell or silent would use up the remaining time, and one that requested a pause gets it.
   */
  tryOnceMore(): void {
    if (this.#reason === 'unreachable') this.#until = 0
  }
}

export function classifyFailure(failure: DeliveryFailure, tries: number): FailureVerdict {
  switch (failure.kind) {
    case 'status':
      return classifyStatus(failure.status, tries)
    case 'network':
      return { kind: 'later', reason: isMisconfigured(failure.code) ? 'misconfigured' : 'unreachable' }
    case 'timeout':
      return { kind: 'later', reason: 'silent' }
    case 'file':
      return { kind: 'later', reason: 'unreachable' }
    case 'command':
      return { kind: 'later', reason: 'unwell' }
    case 'page':
    case 'header':
      return { kind: 'later', reason: 'misconfigured' }
    case 'internal':
      return failure.reason === UNSERIALISABLE.reason ? { kind: 'refused' } : { kind: 'later', reason: 'unwell' }
    case 'rejected':
    case 'refused':
      return { kind: 'refused' }
  }
}

export function backOffReason(verdict: FailureVerdict, failure: DeliveryFailure): BackOffReason {
  if (verdict.kind === 'later') return verdict.reason
  return failure.kind === 'status' && failure.status >= 500 ? 'unwell' : 'misconfigured'
}

function classifyStatus(status: number, tries: number): FailureVerdict {
  if (TEMPORARY.has(status)) return { kind: 'later', reason: 'unwell' }
  if (MISCONFIGURED.has(status) || status < 400) return { kind: 'later', reason: 'misconfigured' }
  if (status >= 500 && tries < MAX_ERRORS) return { kind: 'later', reason: 'unwell' }
  return { kind: 'refused' }
}

/** The peer does not speak HTTP or HTTP/2, or its certificate is not trusted. */
function isMisconfigured(code: string): boolean {
  return code.startsWith('HPE_') || code === NOT_HTTP2 || /CERT|SIGNATURE|ISSUER|EPROTO|SSL|TLS/.test(code)
}
