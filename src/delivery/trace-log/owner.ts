import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * A process that cannot be looked up here is considered dead after this time without a heartbeat. A heartbeat further in the
 * future than any clock skew between machines comes from a wrong clock.
 */
const HEARTBEAT_LIMIT_MILLIS = 600_000
const CLOCK_SKEW_LIMIT_MILLIS = 86_400_000

const HIGHEST_PID = 2 ** 31 - 1
const TOKEN = /^([0-9a-f]{8}|0)_([0-9a-f]{8}|0)_([0-9a-f]{8}|0)-(\d{1,10})-(\d{1,20})$/

export function thisOwner(): Owner {
  return systemProbes.self
}

/** `<place>-<pid>-<birth>`, safe in a file name. */
export function ownerToken({ place, pid, birth }: Owner): string {
  return `${place}-${pid}-${birth}`
}

export function parseOwner(token: string): Owner | undefined {
  const [match, host, boot, namespace, digits = '', birth = ''] = TOKEN.exec(token) ?? []
  const pid = Number(digits)
  // For `kill`, 0 is our own process group, and a number too large for a pid would be truncated to another one.
  if (match === undefined || pid < 1 || pid > HIGHEST_PID) return undefined
  return { place: `${host}_${boot}_${namespace}`, pid, birth }
}

/** If the state is uncertain, the heartbeat decides. Waiting for a dead owner costs time, taking over from a living one duplicates spans. */
export function isAlive(owner: Owner, heartbeatAt: number, now: number, probes: ProcessProbes = systemProbes): boolean {
  if (ownerToken(owner) === ownerToken(probes.self)) return true
  if (owner.place === probes.self.place) {
    if (!probes.isRunning(owner.pid)) return false
    const birth = probes.birthOf(owner.pid)
    if (owner.birth !== UNKNOWN && birth !== UNKNOWN) return owner.birth === birth
  }
  if (isRestarted(owner.place, probes.self.place)) return false
  const age = now - heartbeatAt
  return age < HEARTBEAT_LIMIT_MILLIS && age > -CLOCK_SKEW_LIMIT_MILLIS
}

/** The same host has been restarted, so no process from before is running. */
function isRestarted(place: string, here: string): boolean {
  const [host, boot] = place.split('_')
  const [hostHere, bootHere] = here.split('_')
  const isKnown = ![host, boot, hostHere, bootHere].includes(UNKNOWN)
  return isKnown && host === hostHere && boot !== bootHere
}

const UNKNOWN = '0'

export interface Owner {
  /** `<host>_<boot>_<pid namespace>`, each a short hash or `UNKNOWN`. Within a place a pid is one process at a time. */
  readonly place: string
  readonly pid: number
  /** Clock ticks from the boot to the start of the process, to distinguish processes with the same pid. Or `UNKNOWN`. */
  readonly birth: string
}

export interface ProcessProbes {
  readonly self: Owner
  isRunning(pid: number): boolean
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
    // EPERM: it runs under another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  // A zombie, without a waiting parent, keeps its pid for ever after its end: common if pid 1 is not an init.
  return !['Z', 'X'].includes(statOf(pid)?.state ?? '')
}

function birthOf(pid: number): string {
  return statOf(pid)?.birth ?? UNKNOWN
}

let isProcOurs: boolean | undefined

/** A `/proc` mounted for another pid namespace describes other processes under the same numbers. */
function statOf(pid: number): ReturnType<typeof readStat> {
  isProcOurs ??= readStat('self')?.pid === process.pid
  return isProcOurs ? readStat(String(pid)) : undefined
}

function readStat(name: string): { readonly pid: number; readonly state: string; readonly birth: string } | undefined {
  const text = orUndefined(() => readFileSync(`/proc/${name}/stat`, 'latin1'))
  if (text === undefined) return undefined
  // Field 2 is the name of the program in parentheses, and may itself contain spaces and parentheses.
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
