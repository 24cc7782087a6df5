import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Refused } from './counts.ts'

/**
 * Checks what a sender has signed with a secret that it shares with us: `sha256=<hex>`, over the body as it came.
 *
 * @throws Refused when the signature is missing or another
 */
export function expectSigned(headers: IncomingHttpHeaders, body: Buffer, secret: string): void {
  const given = headers['x-hermes-signature-256']
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`, 'latin1')
  const found = Buffer.from(typeof given === 'string' ? given : '', 'latin1')
  if (found.length !== expected.length || !timingSafeEqual(found, expected)) throw new Refused('signature')
}
