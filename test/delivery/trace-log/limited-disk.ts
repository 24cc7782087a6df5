type FileSystem = typeof import('node:fs')

/** The file system, on a disk whose fullness can be changed. For `vi.mock`. */
export function limitedTo(disk: { isFull: boolean; takesAtMost?: number }, fs: FileSystem): FileSystem {
  const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
  return {
    ...fs,
    writeFileSync: (...args) => {
      if (!disk.isFull) return fs.writeFileSync(...args)
      // As it is on a full disk: the file is there, but nothing in it.
      fs.writeFileSync(args[0], '', args[2])
      throw full
    },
    writeSync: (descriptor: number, bytes: Uint8Array, from: number, length: number, at: number) => {
      if (disk.isFull) throw full
      return fs.writeSync(descriptor, bytes, from, Math.min(length, disk.takesAtMost ?? length), at)
    },
  } as FileSystem
}
