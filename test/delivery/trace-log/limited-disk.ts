import fs from 'node:fs'
import { replaceBuiltin } from '../../support/replaced-builtin.ts'

/** Gives the tests of the file that calls this a disk whose fullness can be changed. */
export function limitDisk(disk: { isFull: boolean; takesAtMost?: number }): void {
  const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
  replaceBuiltin(fs, real => ({
    writeFileSync: (...args) => {
      if (!disk.isFull) return real.writeFileSync(...args)
      // As it is on a full disk: the file is there, but nothing in it.
      real.writeFileSync(args[0], '', args[2])
      throw full
    },
    writeSync: ((descriptor: number, bytes: Uint8Array, from: number, length: number, at: number) => {
      if (disk.isFull) throw full
      return real.writeSync(descriptor, bytes, from, Math.min(length, disk.takesAtMost ?? length), at)
    }) as typeof fs.writeSync,
  }))
}
