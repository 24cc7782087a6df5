import { futimesSync, lstatSync, writeSync } from 'node:fs'
import { OPEN, withOwnFile } from '../../delivery/trace-log/private-place.ts'
import type { ReceiverPlace } from '../../plugin/config/paths.ts'

/** Interval between starts: an agent fires dozens of hooks while a receiver starts, or if none can start. */
const TRY_AGAIN_MILLIS = 10_000

/**
 * Starts a receiver as a separate process, without waiting for it. If several start at once, only one stays.
 *
 * @param program path of the hookspan command
 * @throws the error of the file system
 */
export async function startReceiver(place: ReceiverPlace, program: string): Promise<void> {
  if (!isTime(place)) return
  // Loaded only now: usually a receiver is running, and the agent must not wait for this module.
  const { spawn } = await import('node:child_process')
  // `serve --detach` would start Node once more while the agent may be waiting. The working directory is our own, because the
  // agent's could not be unmounted otherwise.
  const child = spawn(process.execPath, [program, 'serve'], {
    cwd: place.directory,
    detached: true,
    stdio: 'ignore',
    windowsHide: true,
  })
  child.on('error', () => undefined)
  child.unref()
}

/** True if no start was tried for a while, or the receiver started last has come up and is gone again. Records this attempt. */
function isTime({ address, starting }: ReceiverPlace): boolean {
  return withOwnFile(starting, OPEN.append, (descriptor, { size, mtimeMs }) => {
    const now = Date.now()
    const cameUpAt = lstatSync(address, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (size > 0 && Math.abs(now - mtimeMs) < TRY_AGAIN_MILLIS && cameUpAt <= mtimeMs) return false
    if (size === 0) writeSync(descriptor, '\n')
    futimesSync(descriptor, now / 1000, now / 1000)
    return true
  })
}
