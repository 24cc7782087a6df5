import { join } from 'node:path'

/**
 * The files of a user's receiver that clients need: files 0600, directories 0700. `receiver.py` of the integrations has the
 * same paths in Python.
 */
export interface ReceiverPlace {
  readonly directory: string
  /** One line of hex, which authorizes clients. */
  readonly token: string
  /** JSON: the address of the running receiver. */
  readonly address: string
  /** The receiver's process id on one line, for shell scripts that check whether the process is alive. */
  readonly pid: string
  /** Events that found no receiver, one file each. */
  readonly spool: string
  /** Its modification time is that of the last attempt to start a receiver. */
  readonly starting: string
}

/** @param stateHome as returned by `stateHome` in `paths.ts` */
export function receiverPlace(stateHome: string): ReceiverPlace {
  const directory = join(stateHome, 'receiver')
  return {
    directory,
    token: join(directory, 'token'),
    address: join(directory, 'address.json'),
    pid: join(directory, 'pid'),
    spool: join(directory, 'spool'),
    starting: join(directory, 'starting'),
  }
}

/** The format of our tokens. Other content was not written by hookspan. */
export const TOKEN: RegExp = /^[0-9a-f]{64}$/

/** Limits the spool: an agent whose user has removed hookspan must not fill the disk. */
export const SPOOL_LIMITS: { readonly files: number; readonly bytes: number } = {
  files: 10_000,
  bytes: 64 * 1024 * 1024,
}

/** A file of the spool. Each line is a number of events that were dropped for lack of room. */
export const DROPPED = 'dropped'
