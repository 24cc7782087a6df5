import { type Owner, type ProcessProbes, systemProbes, UNKNOWN } from './process-probes.ts'

export type { Owner } from './process-probes.ts'

/** A process that cannot be looked at from here is taken for dead when its checkpoint was not touched for so long. */
const HEARTBEAT_LIMIT_MILLIS = 600_000
/** A heartbeat further ahead than any two clocks of machines that share a directory was made by a clock gone wrong. */
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
  // 0 stands for our own process group, and what is too big for a pid would be cut down to another one.
  if (match === undefined || pid < 1 || pid > HIGHEST_PID) return undefined
  return { place: `${host}_${boot}_${namespace}`, pid, birth }
}

/**
 * Whether the owner can still write. In doubt its heartbeat decides: to wait for a dead one delays, to take over from a
 * living one sends twice.
 *
 * @param heartbeatAt when its checkpoint was last touched, epoch milliseconds
 */
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

/** The same host has been started anew since, so nothing of then runs. */
function isRestarted(place: string, here: string): boolean {
  const [host, boot] = place.split('_')
  const [hostHere, bootHere] = here.split('_')
  const isKnown = ![host, boot, hostHere, bootHere].includes(UNKNOWN)
  return isKnown && host === hostHere && boot !== bootHere
}
