import type { IncomingHttpHeaders } from 'node:http'
import { isSame } from '../loopback/secret.ts'

/** What is looked at of a request, whatever it asks for. */
export interface Caller {
  readonly method: string | undefined
  /** As the request line has it. */
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  /** Name, value, name, value: what Node has thrown away of those that came twice. */
  readonly rawHeaders: readonly string[]
  /** Where we listen. */
  readonly port: number
}

export interface Admitted {
  /** `/api/sessions`, as it came: nothing in it has been decoded. */
  readonly path: string
  readonly query: URLSearchParams
}

/** A request that is not answered, and why, in one line for who sent it. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: number

  constructor(status: number, problem: string) {
    super(problem)
    this.status = status
  }
}

/** What gives away what agents were told. All else is the page itself, which knows nothing. */
const DATA = /^\/api(\/|$)/
const LONGEST_URL = 4_096
/** The port that a browser leaves out. */
const DEFAULT_PORT = 80

/**
 * Who may ask, looked at before what is asked for: a page of somebody else's is turned away by the name that it has for us
 * (DNS rebinding), or by saying where it comes from; a program that does not know the token gets no data.
 *
 * @throws Refused
 */
export function admit({ method, url = '', headers, rawHeaders, port }: Caller, token: string): Admitted {
  const host = onlyHost(rawHeaders)
  const names = ['127.0.0.1', 'localhost', '[::1]'].map(name => (port === DEFAULT_PORT ? name : `${name}:${port}`))
  if (host === undefined || !names.includes(host)) {
    throw new Refused(403, `this viewer answers as ${names[0]} or ${names[1]} alone; forward it under the same port`)
  }
  const { origin, 'sec-fetch-site': site, authorization } = headers
  if (origin !== undefined && origin !== `http://${host}`) throw new Refused(403, 'asked by a page of another origin')
  const isData = DATA.test(url.replace(/[?#].*$/s, ''))
  const isFromUs = site === undefined || site === 'same-origin' || (site === 'none' && !isData)
  if (!isFromUs) throw new Refused(403, 'asked by another site; open the address that hookspan view prints')
  if (method !== 'GET') throw new Refused(405, 'this viewer only reads: GET')
  if (!/^\/(?!\/)/.test(url) || url.length > LONGEST_URL) throw new Refused(400, 'no path, or one that is too long')
  if (isData && !isSame(authorization, `Bearer ${token}`)) {
    throw new Refused(401, 'the token is missing or of an earlier viewer; run hookspan view again')
  }
  const [path = '', ...rest] = url.split('?')
  return { path, query: new URLSearchParams(rest.join('?')) }
}

/** Undefined when there is none, or more than one: then somebody between us may have read another one than we do. */
function onlyHost(rawHeaders: readonly string[]): string | undefined {
  const hosts = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'host')
  return hosts.length === 1 ? hosts[0] : undefined
}
