import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { isHere, type Owner } from '../trace-log/index.ts'
import { writePrivate } from '../trace-log/private-place.ts'
import { type Place, readPrivate } from './place.ts'

/** Where a receiver is to be reached, for those who send it events. */
export interface Address {
  readonly pid: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly version: string
  /** Null when there is none, as `port`. */
  readonly socket: string | null
  readonly port: number | null
  /** Whole conversations are wanted: who sends hooks leaves them out otherwise. */
  readonly content_capture?: 'full'
}

/** Undefined when no receiver has said where it is, or it cannot be read. */
export function readAddress(place: Place): Address | undefined {
  try {
    const found = JSON.parse(readPrivate(place.address) ?? 'null') as Partial<Address> | null
    const { pid, startedAt, version, socket = null, port = null, content_capture } = found ?? {}
    const isWhole = typeof pid === 'number' && typeof startedAt === 'number' && typeof version === 'string'
    if (!isWhole) return undefined
    return { pid, startedAt, version, socket, port, ...(content_capture === 'full' && { content_capture }) }
  } catch {
    return undefined
  }
}

/** That of who holds the lock; not what a dead one has left, whose port may be anybody's by now. */
export function addressOf(place: Place, holder: Owner): Address | undefined {
  const address = readAddress(place)
  return isHere(holder) && address?.pid !== holder.pid ? undefined : address
}

/** @throws the error of the file system */
export function writeAddress(place: Place, address: Address): void {
  writePrivate(place.pid, `${address.pid}\n`)
  writePrivate(place.address, `${JSON.stringify(address)}\n`)
}

/** At an orderly end; leaves the address of a successor. */
export function removeAddress(place: Place, pid: number): void {
  if (readAddress(place)?.pid !== pid) return
  rmSync(place.pid, { force: true })
  rmSync(place.address, { force: true })
}

/** Lets the next event start a receiver at once: senders wait some seconds after they started one, in case it is still starting. */
export function allowStart({ starting }: Place): void {
  rmSync(starting, { force: true })
}

/** The port that agents have been told: the next receiver listens there, too, when it can. */
export function lastPort({ directory }: Place): number | undefined {
  const port = Number(readPrivate(join(directory, 'port')) ?? 0)
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined
}

/** @throws the error of the file system */
export function rememberPort({ directory }: Place, port: number): void {
  writePrivate(join(directory, 'port'), `${port}\n`)
}
