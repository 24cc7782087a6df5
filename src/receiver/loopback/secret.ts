import { timingSafeEqual } from 'node:crypto'

/** Compares in constant time, so that the duration does not reveal the position of a difference. */
export function isSame(given: unknown, secret: string): boolean {
  if (typeof given !== 'string' || given.length !== secret.length) return false
  return timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(secret, 'latin1'))
}
