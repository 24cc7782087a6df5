import { mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const MIN_FREE_BYTES = 2 ** 31

/**
 * Puts the temporary folders of a run into memory: the tests make and remove thousands, which takes a disk ten times as long.
 * Does nothing if TMPDIR is set, or if there is no such folder with enough room, in which programs may run.
 */
export function setup(): (() => void) | undefined {
  if (process.env['TMPDIR'] !== undefined || !isUsable()) return undefined
  const folder = mkdtempSync(join(MEMORY, 'hookspan-tests-'))
  process.env['TMPDIR'] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
}

function isUsable(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    const [, , type = '', options = ''] =
      readFileSync('/proc/mounts', 'utf8')
        .split('\n')
        .map(line => line.split(' '))
        .findLast(([, place]) => place === MEMORY) ?? []
    return type === 'tmpfs' && !/\b(?:ro|noexec)\b/.test(options) && bavail * bsize >= MIN_FREE_BYTES
  } catch {
    return false
  }
}
