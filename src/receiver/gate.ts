import type { IncomingHttpHeaders } from 'node:http'
import { Refused } from './counts.ts'
import { TEXT_LIMIT } from './limits.ts'
import { isSame } from './loopback/secret.ts'

export interface Caller {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  /** The listener's port. Undefined for the socket, which file permissions protect. */
  readonly port: number | undefined
}

export interface Admitted {
  /** The path without the token: `/v1/hooks`. */
  readonly path: string
  /** True if the token was in the path, for agents that cannot send a header of their own. */
  readonly isByPath: boolean
}

/**
 * Admits requests with the token. Requests of a web page are refused even before that, by their Host or Origin header.
 *
 * @throws Refused
 */
export function admit({ method, url = '', headers, port }: Caller, token: string): Admitted {
  if (port !== undefined && !isOurName(headers.host, port)) throw new Refused('host')
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) throw new Refused('origin')
  const { given, path } = taken(url)
  if (!isSame(given ?? headers['x-hookspan-token'], token)) throw new Refused('token')
  if (method !== 'POST' && !(method === 'GET' && path === '/healthz')) throw new Refused('method')
  return { path, isByPath: given !== undefined }
}

/** Guards against DNS rebinding: another host name that resolves to this address belongs to a foreign page. */
function isOurName(host: string | undefined, port: number): boolean {
  const name = host?.toLowerCase()
  return ['127.0.0.1', 'localhost', '[::1]'].some(each => name === each || name === `${each}:${port}`)
}

/** `/t/<token>/v1/hooks?x=1` → the token, and `/v1/hooks` */
function taken(url: string): { given: string | undefined; path: string } {
  const path = url.slice(0, TEXT_LIMIT).replace(/[?#].*$/s, '')
  const [, given, rest] = /^\/t\/([^/]*)(\/.*)$/s.exec(path) ?? []
  return { given, path: rest ?? path }
}
