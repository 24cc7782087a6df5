import { addressOf } from '../../receiver/address.ts'
import { type Health, Peer } from '../../receiver/peer.ts'
import { isThere, type Place, placeOf, readToken } from '../../receiver/place.ts'
import { isHere, lockHolder, type Owner } from '../../trace-log/index.ts'
import type { CommandIo } from '../command.ts'

/** The receiver that answers. */
export interface Running {
  readonly peer: Peer
  readonly health: Health
}

export function placeIn({ env, home }: Pick<CommandIo, 'env' | 'home'>): Place {
  return placeOf(env, home)
}

/** Undefined when none answers. @throws Error in one line when the token cannot be read */
export async function findRunning(place: Place): Promise<Running | undefined> {
  const holder = ownerIn(place)
  const address = holder && addressOf(place, holder)
  const token = address && readToken(place)
  if (address === undefined || token === undefined) return undefined
  const peer = new Peer(address, token)
  const health = await peer.health()
  return health === undefined ? undefined : { peer, health }
}

/** The process here that holds the receiver's place, whether it answers or not. @throws Error in one line */
export function holderOf(place: Place): number | undefined {
  const holder = ownerIn(place)
  return holder !== undefined && isHere(holder) ? holder.pid : undefined
}

function ownerIn({ directory }: Place): Owner | undefined {
  // It has never run here.
  return isThere(directory) === undefined ? undefined : lockHolder(directory, Date.now)
}

const AGAIN_MILLIS = 20

/** Resolves to whether it came true before the time was over. */
export async function comesTrue(isTrue: () => boolean | Promise<boolean>, millis: number): Promise<boolean> {
  const until = performance.now() + millis
  while (!(await isTrue())) {
    if (performance.now() > until) return false
    await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
  }
  return true
}
