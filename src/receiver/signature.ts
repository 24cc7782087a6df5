import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Refused } from './counts.ts'

/**
 * Verifies the signature of a sender that shares a secret with us: `sha256=<hex>`, the HMAC of the body as received.
 *
 * @throws Refused if the signature is missing or wrong
 */
export function expectSigned(headers: IncomingHttpHeaders, body: Buffer, secret: string): void {
  const given = headers['x-hermes-signature-256']
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`, 'latin1')
  const found = Buffer.from(typeof given === 'string' ? given : '', 'latin1')
  if (found.length !== expected.length || !timingSafeEqual(found, expected)) throw new Refused('signature')
}
