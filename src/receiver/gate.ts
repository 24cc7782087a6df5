import type { IncomingHttpHeaders } from 'node:http'
import { isSame } from '../loopback/secret.ts'
import { Refused } from './counts.ts'
import { TEXT_LIMIT } from './limits.ts'

/** What is looked at before anything of a request's body is. */
export interface Caller {
  readonly method: string | undefined
  /** As the request line has it. */
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  /** The port it came through; undefined for the socket, which the file system guards. */
  readonly port: number | undefined
}

export interface Admitted {
  /** Without the token: `/v1/hooks`. */
  readonly path: string
  /** Whether the token stood in the path, as with agents that can send no header of their own. */
  readonly isByPath: boolean
}

/**
 * Lets in who knows the token. A page in a browser does not, and is turned away before that: by the name it has for us, or by
 * saying where it comes from.
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

/** A name that leads here from elsewhere would be somebody else's page (DNS rebinding). */
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
