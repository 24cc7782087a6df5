import { parseHttpUrl } from '../backends/http-url.ts'

export type Signal = 'traces' | 'metrics' | 'logs'

const SIGNAL_PATH = /\/v1\/(?:traces|metrics|logs)$/

function basePath(url: URL): string {
  return url.pathname.replace(/\/+$/, '').replace(SIGNAL_PATH, '')
}

/**
 * The URL that takes a signal. The endpoint may be a base URL or the full URL of any signal, with or without a slash
 * at its end: `/v1/traces` is appended exactly when it is missing. Undefined when it is no http or https URL.
 */
export function signalUrl(endpoint: string, signal: Signal): string | undefined {
  const url = parseHttpUrl(endpoint)
  if (!url) return undefined
  url.pathname = `${basePath(url)}/v1/${signal}`
  return url.href
}

/** The URL exactly as it is given; without a path its root. Undefined when it is no http or https URL. */
export function exactUrl(endpoint: string): string | undefined {
  return parseHttpUrl(endpoint)?.href
}

/** The same endpoint without a signal's path, query and credentials; no slash at its end. */
export function baseUrl(endpoint: string): string | undefined {
  const url = parseHttpUrl(endpoint)
  return url && `${url.origin}${basePath(url)}`
}
