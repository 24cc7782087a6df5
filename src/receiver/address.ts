import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { isOnThisHost, type Owner } from '../delivery/trace-log/index.ts'
import { writePrivate } from '../delivery/trace-log/private-file.ts'
import { type Place, readPrivate } from './place.ts'

export interface Address {
  readonly pid: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly version: string
  /** Null if the receiver has no socket. `port` likewise. */
  readonly socket: string | null
  readonly port: number | null
  /** Set if whole conversations are recorded. Clients omit the content of hooks otherwise. */
  readonly content_capture?: 'full'
}

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

/** The address of the lock's holder. Ignores an address left by a dead receiver: another program may own that port by now. */
export function addressOf(place: Place, holder: Owner): Address | undefined {
  const address = readAddress(place)
  return isOnThisHost(holder) && address?.pid !== holder.pid ? undefined : address
}

/** @throws the error of the file system */
export function writeAddress(place: Place, address: Address): void {
  writePrivate(place.pid, `${address.pid}\n`)
  writePrivate(place.address, `${JSON.stringify(address)}\n`)
}

/** Removes the address at an orderly shutdown. Keeps the address of a successor. */
export function removeAddress(place: Place, pid: number): void {
  if (readAddress(place)?.pid !== pid) return
  rmSync(place.pid, { force: true })
  rmSync(place.address, { force: true })
}

/** Lets the next event start a receiver at once. Clients otherwise wait some seconds after a start. */
export function allowStart({ starting }: Place): void {
  rmSync(starting, { force: true })
}

/** The port that agents are configured with. The next receiver listens there, too, if the port is free. */
export function lastPort({ directory }: Place): number | undefined {
  const port = Number(readPrivate(join(directory, 'port')) ?? 0)
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined
}

/** @throws the error of the file system */
export function rememberPort({ directory }: Place, port: number): void {
  writePrivate(join(directory, 'port'), `${port}\n`)
}
