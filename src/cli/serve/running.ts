import { isHere, lockHolder, type Owner } from '../../delivery/trace-log/index.ts'
import { addressOf, fileKind, type ReceiverFiles, readToken, receiverFiles } from '../../receiver/receiver-files.ts'
import { type Health, RunningReceiver } from '../../receiver/running-receiver.ts'
import type { CommandIo } from '../command.ts'

export interface Running {
  readonly peer: RunningReceiver
  readonly health: Health
}

export function placeIn({ env, home }: Pick<CommandIo, 'env' | 'home'>): ReceiverFiles {
  return receiverFiles(env, home)
}

/** Undefined if none answers. @throws Error in one line if the token cannot be read */
export async function findRunning(place: ReceiverFiles): Promise<Running | undefined> {
  const holder = ownerIn(place)
  const address = holder && addressOf(place, holder)
  const token = address && readToken(place)
  if (address === undefined || token === undefined) return undefined
  const peer = new RunningReceiver(address, token)
  const health = await peer.health()
  return health === undefined ? undefined : { peer, health }
}

/** The process on this machine that owns the receiver's lock, whether it answers or not. @throws Error in one line */
export function holderOf(place: ReceiverFiles): number | undefined {
  const holder = ownerIn(place)
  return holder !== undefined && isHere(holder) ? holder.pid : undefined
}

function ownerIn({ directory }: ReceiverFiles): Owner | undefined {
  // No receiver has ever run here.
  return fileKind(directory) === undefined ? undefined : lockHolder(directory, Date.now)
}

const AGAIN_MILLIS = 20

/** @returns whether the condition became true in time */
export async function comesTrue(isTrue: () => boolean | Promise<boolean>, millis: number): Promise<boolean> {
  const until = performance.now() + millis
  while (!(await isTrue())) {
    if (performance.now() > until) return false
    await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
  }
  return true
}
