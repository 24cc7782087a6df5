import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Of a part of an owner that could not be found out. */
export const UNKNOWN = '0'

/** A process that writes a segment, or has taken it over. */
export interface Owner {
  /** `<host>_<boot>_<pid namespace>`, each a short hash or `UNKNOWN`. Within a place a pid is one process at a time. */
  readonly place: string
  readonly pid: number
  /**
   * Tells it from an earlier process with the same pid: ticks from the start of the machine to that of the process, which
   * no change of the clock touches; or `UNKNOWN`.
   */
  readonly birth: string
}

/** What can be asked about the processes of this machine. */
export interface ProcessProbes {
  /** The process that asks. */
  readonly self: Owner
  isRunning(pid: number): boolean
  /** `UNKNOWN` where the system does not tell. */
  birthOf(pid: number): string
}

let self: Owner | undefined

export const systemProbes: ProcessProbes = {
  get self(): Owner {
    self ??= { place: placeHere(), pid: process.pid, birth: birthOf(process.pid) }
    return self
  },
  isRunning,
  birthOf,
}

function placeHere(): string {
  const bootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return [hostname, bootId, () => readlinkSync('/proc/self/ns/pid')].map(shortHash).join('_')
}

function shortHash(read: () => string): string {
  const text = orUndefined(read)
  return text ? createHash('sha256').update(text).digest('hex').slice(0, 8) : UNKNOWN
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it runs, but under another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  // A process that nobody waits for keeps its pid for ever after its end: common where pid 1 is no init.
  return !['Z', 'X'].includes(statOf(pid)?.state ?? '')
}

function birthOf(pid: number): string {
  return statOf(pid)?.birth ?? UNKNOWN
}

interface ProcessStat {
  readonly pid: number
  readonly state: string
  readonly birth: string
}

let isProcOurs: boolean | undefined

/** A `/proc` that was mounted for another pid namespace tells of other processes under the same numbers. */
function statOf(pid: number): ProcessStat | undefined {
  isProcOurs ??= readStat('self')?.pid === process.pid
  return isProcOurs ? readStat(String(pid)) : undefined
}

function readStat(name: string): ProcessStat | undefined {
  const text = orUndefined(() => readFileSync(`/proc/${name}/stat`, 'latin1'))
  if (text === undefined) return undefined
  // Field 2 is the name of the program in parentheses, and may itself hold spaces and parentheses.
  const [state = '', ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const birth = rest[18] ?? ''
  return { pid: Number.parseInt(text, 10), state, birth: /^\d+$/.test(birth) ? birth : UNKNOWN }
}

function orUndefined(read: () => string): string | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
