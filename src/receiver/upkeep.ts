import type { Lock } from '../delivery/trace-log/index.ts'
import { type Address, readAddress, writeAddress } from './address.ts'
import type { Listening } from './listening.ts'
import type { Place } from './place.ts'

/**
 * Maintains the files through which a receiver is found, which may have been removed by the user or the system.
 *
 * @param address returns undefined if no more requests are wanted
 * @returns false if the directory belongs to another receiver now
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

/** Rewrites the address file if it is gone, or the socket has changed. */
function tellAddress(place: Place, address: Address | undefined): void {
  const told = readAddress(place)
  if (address === undefined || (told?.pid === address.pid && told.socket === address.socket)) return
  try {
    writeAddress(place, address)
  } catch {
    // The next check tries again.
  }
}
