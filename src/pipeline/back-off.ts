import type { DeliveryFailure } from './delivery.ts'
import { UNSERIALISABLE } from './otlp-exporters.ts'

const FIRST_MILLIS = 1000
const MOST_MILLIS = 60_000
/** What only a person can mend is looked at again from time to time, because the person may have mended it. */
const UNTIL_MENDED_MILLIS = 300_000
/** A server may ask for more than anybody would wait. */
const MOST_ASKED_MILLIS = 3_600_000

/** Why a backend is left alone for a while. */
export type BackOffReason = 'unreachable' | 'unwell' | 'silent' | 'asked' | 'misconfigured'

/**
 * What a failure means for the spans that were sent: `later`, the backend cannot take them now; `refused`, it does not take
 * them, but may take a part of them.
 */
type Verdict = { readonly kind: 'later'; readonly reason: BackOffReason } | { readonly kind: 'refused' }

/** For the moment only, says the OTLP specification; 408 says it of itself. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])
/** What is wrong is the configuration, not the spans. */
const MISCONFIGURED: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 406, 407, 415])
/** A server that fails so often on the same spans fails because of them. */
const MOST_ERRORS = 5

/** How long to leave a backend alone that does not take what it is sent. In the time of `performance.now()`. */
export class BackOff {
  readonly #scale: number
  #failures = 0
  #until = 0
  #reason: BackOffReason | undefined

  /** `scale` makes all pauses longer or shorter, for tests. */
  constructor(scale = 1) {
    this.#scale = scale
  }

  get isActive(): boolean {
    return this.remainingMillis() > 0
  }

  /** Why it failed last; undefined when it did not. */
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
    const most = reason === 'misconfigured' ? UNTIL_MENDED_MILLIS : MOST_MILLIS
    // Many processes that saw the same outage must not come back in the same moment.
    const jittered = Math.min(own, most) * (0.75 + Math.random() * 0.5) * this.#scale
    this.#until = performance.now() + Math.max(jittered, Math.min(askedMillis, MOST_ASKED_MILLIS))
  }

  succeeded(): void {
    this.#failures = 0
    this.#until = 0
    this.#reason = undefined
  }

  /**
   * The last chance before the process ends: a server that was not there may be by now, and asking costs a moment. One that
   * is unwell or silent would cost all the time that there is, and one that asked for a pause gets it.
   */
  tryOnceMore(): void {
    if (this.#reason === 'unreachable') this.#until = 0
  }
}

/** `tries`: how often the same spans have failed before. */
export function judge(failure: DeliveryFailure, tries: number): Verdict {
  switch (failure.kind) {
    case 'status':
      return judgeStatus(failure.status, tries)
    case 'network':
      return { kind: 'later', reason: isMisconfigured(failure.code) ? 'misconfigured' : 'unreachable' }
    case 'timeout':
      return { kind: 'later', reason: 'silent' }
    case 'file':
      return { kind: 'later', reason: 'unreachable' }
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

/** How long to leave a backend alone after it. */
export function reasonOf(verdict: Verdict, failure: DeliveryFailure): BackOffReason {
  if (verdict.kind === 'later') return verdict.reason
  return failure.kind === 'status' && failure.status >= 500 ? 'unwell' : 'misconfigured'
}

function judgeStatus(status: number, tries: number): Verdict {
  if (PASSING.has(status)) return { kind: 'later', reason: 'unwell' }
  if (MISCONFIGURED.has(status) || status < 400) return { kind: 'later', reason: 'misconfigured' }
  if (status >= 500 && tries < MOST_ERRORS) return { kind: 'later', reason: 'unwell' }
  return { kind: 'refused' }
}

/** What answers is not HTTP, or not to be trusted. */
function isMisconfigured(code: string): boolean {
  return code.startsWith('HPE_') || /CERT|SIGNATURE|ISSUER|EPROTO|SSL|TLS/.test(code)
}
