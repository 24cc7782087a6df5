import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { TEXT_LIMIT } from './limits.ts'
import { isSameSecret } from './loopback/listener.ts'
import { RefusedRequest } from './refusal.ts'

export interface RequestHead {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  /** The listener's port. Undefined for the socket, which file permissions protect. */
  readonly port: number | undefined
}

export interface AdmittedRequest {
  readonly path: string
  readonly isByPath: boolean
}

/**
 * Admits requests with the token. Requests of a web page are refused even before that, by their Host or Origin header.
 *
 * @throws Refused
 */
export function admit({ method, url = '', headers, port }: RequestHead, token: string): AdmittedRequest {
  if (port !== undefined && !isOurName(headers.host, port)) throw new RefusedRequest('host')
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) throw new RefusedRequest('origin')
  const { given, path } = splitToken(url)
  if (!isSameSecret(given ?? headers['x-hookspan-token'], token)) throw new RefusedRequest('token')
  if (method !== 'POST' && !(method === 'GET' && path === '/healthz')) throw new RefusedRequest('method')
  return { path, isByPath: given !== undefined }
}

/** Guards against DNS rebinding: another host name that resolves to this address belongs to a foreign page. */
function isOurName(host: string | undefined, port: number): boolean {
  const name = host?.toLowerCase()
  return ['127.0.0.1', 'localhost', '[::1]'].some(each => name === each || name === `${each}:${port}`)
}

/** `/t/<token>/v1/hooks?x=1` → the token, and `/v1/hooks` */
function splitToken(url: string): { given: string | undefined; path: string } {
  const path = url.slice(0, TEXT_LIMIT).replace(/[?#].*$/s, '')
  const [, given, rest] = /^\/t\/([^/]*)(\/.*)$/s.exec(path) ?? []
  return { given, path: rest ?? path }
}

/**
 * Verifies the signature of a sender that shares a secret with us: `sha256=<hex>`, the HMAC of the body as received.
 *
 * @throws Refused if the signature is missing or wrong
 */
export function expectSigned(headers: IncomingHttpHeaders, body: Buffer, secret: string): void {
  const given = headers['x-hermes-signature-256']
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`, 'latin1')
  const found = Buffer.from(typeof given === 'string' ? given : '', 'latin1')
  if (found.length !== expected.length || !timingSafeEqual(found, expected)) throw new RefusedRequest('signature')
}
