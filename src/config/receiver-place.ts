import { join } from 'node:path'

/**
 * Where the receiver of a user keeps what senders need of it: files 0600, directories 0700. `receiver.py` of the integrations
 * spells the same in Python.
 */
export interface ReceiverPlace {
  readonly directory: string
  /** A line of hex, by which senders are let in. */
  readonly token: string
  /** JSON: how the receiver that listens is reached. */
  readonly address: string
  /** The receiver's process id as a line, for a shell that only asks whether the process lives. */
  readonly pid: string
  /** Events that found no receiver, a file each. */
  readonly spool: string
  /** Its time says when somebody last tried to start a receiver. */
  readonly starting: string
}

/** @param stateHome as `paths.ts` finds it */
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

/** What is none was written by somebody else. */
export const TOKEN: RegExp = /^[0-9a-f]{64}$/

/** So much waits for a receiver at most: an agent whose user has removed us must not fill the disk. */
export const SPOOL_LIMITS: { readonly files: number; readonly bytes: number } = {
  files: 10_000,
  bytes: 64 * 1024 * 1024,
}

/** In the spool. Lines of it are numbers of events that found no room. */
export const DROPPED = 'dropped'
