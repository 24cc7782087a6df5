import type { Lock } from '../trace-log/index.ts'
import { type Address, readAddress, writeAddress } from './address.ts'
import type { Listening } from './listening.ts'
import type { Place } from './place.ts'

/**
 * Looks after what a receiver needs to be found, and somebody may have cleared away.
 *
 * @param address undefined when nobody is to come any more
 * @returns false when its place is not its own any more
 */
export function keepUp(
  place: Place,
  lock: Lock,
  listening: Listening | undefined,
  address: () => Address | undefined,
): boolean {
  try {
    lock.touch()
  } catch {
    return false
  }
  void listening?.mend().then(() => tellAddress(place, address()))
  return true
}

/** Again, where it is gone, or the socket is another. */
function tellAddress(place: Place, address: Address | undefined): void {
  const told = readAddress(place)
  if (address === undefined || (told?.pid === address.pid && told.socket === address.socket)) return
  try {
    writeAddress(place, address)
  } catch {
    // The next look tries again.
  }
}
