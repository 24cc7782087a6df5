import { timingSafeEqual } from 'node:crypto'

/** Whether somebody knows it; in the same time, wherever they differ. */
export function isSame(given: unknown, secret: string): boolean {
  if (typeof given !== 'string' || given.length !== secret.length) return false
  return timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(secret, 'latin1'))
}
