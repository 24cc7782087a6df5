import { futimesSync, lstatSync, writeSync } from 'node:fs'
import type { ReceiverPlace } from '../config/receiver-place.ts'
import { OPEN, withOwnFile } from '../trace-log/private-place.ts'

/** An agent fires hooks by the dozen while a receiver starts, or where none can. */
const TRY_AGAIN_MILLIS = 10_000

/**
 * Has a receiver start beside us, and waits for nothing. Several at once are no harm: one of them stays.
 *
 * @param program hookspan's own
 * @throws the error of the file system
 */
export async function startReceiver(place: ReceiverPlace, program: string): Promise<void> {
  if (!isTime(place)) return
  // Where a receiver listens, which is nearly always, nobody waits for this module.
  const { spawn } = await import('node:child_process')
  // `serve --detach` would start Node once more, and the agent may be waiting. The working directory is ours: the agent's could not be
  // unmounted otherwise.
  const child = spawn(process.execPath, [program, 'serve'], {
    cwd: place.directory,
    detached: true,
    stdio: 'ignore',
    windowsHide: true,
  })
  child.on('error', () => undefined)
  child.unref()
}

/** Whether nobody has tried for a while, or what was started then has come up, and is gone again; then we are who tries. */
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
