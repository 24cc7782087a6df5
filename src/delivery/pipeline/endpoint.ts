import { parseHttpUrl } from '../backends/http-url.ts'

export type Signal = 'traces' | 'metrics' | 'logs'

const SIGNAL_PATH = /\/v1\/(?:traces|metrics|logs)$/

function basePath(url: URL): string {
  return url.pathname.replace(/\/+$/, '').replace(SIGNAL_PATH, '')
}

/**
 * The URL for a signal. The endpoint may be a base URL or the full URL of any signal, with or without a trailing slash.
 * Example: `http://host:4318` -> `http://host:4318/v1/traces`. Returns undefined unless it is an http or https URL.
 */
export function signalUrl(endpoint: string, signal: Signal): string | undefined {
  const url = parseHttpUrl(endpoint)
  if (!url) return undefined
  url.pathname = `${basePath(url)}/v1/${signal}`
  return url.href
}

/** The URL exactly as given, with the path `/` if it has none. Returns undefined unless it is an http or https URL. */
export function exactUrl(endpoint: string): string | undefined {
  return parseHttpUrl(endpoint)?.href
}

/** The endpoint without the signal's path, query, credentials and trailing slash. */
export function baseUrl(endpoint: string): string | undefined {
  const url = parseHttpUrl(endpoint)
  return url && `${url.origin}${basePath(url)}`
}
