import { UNSERIALISABLE } from '../trace-log/index.ts'
import type { BackOffReason } from './back-off.ts'
import type { DeliveryFailure } from './delivery.ts'

/**
 * What a failure means for the spans that were sent: `later`, the backend cannot take them now; `refused`, it does not take
 * them, but may take a part of them.
 */
export type Verdict = { readonly kind: 'later'; readonly reason: BackOffReason } | { readonly kind: 'refused' }

/** For the moment only, says the OTLP specification; 408 says it of itself. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])
/** What is wrong is the configuration, not the spans. */
const MISCONFIGURED: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 406, 407, 415])
/** A server that fails so often on the same spans fails because of them. */
const MOST_ERRORS = 5

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
