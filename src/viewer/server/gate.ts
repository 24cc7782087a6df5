import type { IncomingMessage } from 'node:http'
import { isSameSecret } from '../../receiver/loopback/listener.ts'

export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly status: number

  constructor(status: number, problem: string) {
    super(problem)
    this.status = status
  }
}

/** Paths that return trace data. All other paths are the page itself, which contains none. */
const DATA = /^\/api(\/|$)/
const MAX_URL = 4_096
/** Browsers omit this port. */
const DEFAULT_PORT = 80

/**
 * Checks the caller before the path. A foreign page is rejected by its host name for this server (DNS rebinding) or by its
 * origin. A program without the token gets no data.
 *
 * @throws RequestError
 */
export function admit(
  { method, url = '', headers, rawHeaders }: IncomingMessage,
  port: number,
  token: string,
): Readonly<{ path: string; query: URLSearchParams }> {
  const host = onlyHost(rawHeaders)
  const names = ['127.0.0.1', 'localhost', '[::1]'].map(name => (port === DEFAULT_PORT ? name : `${name}:${port}`))
  if (host === undefined || !names.includes(host)) {
    const [address, name] = names
    throw new RequestError(403, `this viewer answers as ${address} or ${name} alone; forward it under the same port`)
  }
  const { origin, 'sec-fetch-site': site, authorization } = headers
  if (origin !== undefined && origin !== `http://${host}`)
    throw new RequestError(403, 'asked by a page of another origin')
  const isData = DATA.test(url.replace(/[?#].*$/s, ''))
  const isFromUs = site === undefined || site === 'same-origin' || (site === 'none' && !isData)
  if (!isFromUs) throw new RequestError(403, 'asked by another site; open the address that hookspan view prints')
  if (method !== 'GET') throw new RequestError(405, 'this viewer only reads: GET')
  if (!/^\/(?!\/)/.test(url) || url.length > MAX_URL) throw new RequestError(400, 'no path, or one that is too long')
  if (isData && !isSameSecret(authorization, `Bearer ${token}`)) {
    throw new RequestError(401, 'the token is missing or of an earlier viewer; run hookspan view again')
  }
  const [path = '', ...rest] = url.split('?')
  return { path, query: new URLSearchParams(rest.join('?')) }
}

/**
 * Undefined unless there is exactly one. A proxy may have read another one of several than this server does.
 *
 * @param rawHeaders name, value, name, value; with duplicate headers, which Node drops from `headers`
 */
function onlyHost(rawHeaders: readonly string[]): string | undefined {
  const hosts = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'host')
  return hosts.length === 1 ? hosts[0] : undefined
}
