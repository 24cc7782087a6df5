import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'

/** A way to run a program with a disk that fails. */
export interface Disk {
  readonly how: string
  /** Goes before the command of the program. `directory` is the one that is to fail. */
  under(directory: string): readonly string[]
}

const LIMIT_KIB = 256

/** A file system in name spaces of the program's own: it needs no right to mount, and goes when the program ends. */
function mounted(options: string): Disk {
  const script = 'mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"'
  return {
    how: `tmpfs, ${options}`,
    under: directory => ['unshare', '-Urm', 'sh', '-c', script, 'sh', options, directory],
  }
}

/** Where user name spaces are switched off: the same failure in the middle of a write, for each file by itself. */
const LIMITED: Disk = {
  how: 'ulimit',
  under: () => ['sh', '-c', 'ulimit -f "$1" && shift && exec "$@"', 'sh', String(LIMIT_KIB * 2)],
}

function works({ under }: Disk): boolean {
  const [program = '', ...args] = under(tmpdir())
  return spawnSync(program, [...args, 'true']).status === 0
}

function allThatWork(...disks: readonly Disk[]): Disk[] {
  return disks.filter(works)
}

export const FULL_DISKS: readonly Disk[] = [...allThatWork(mounted(`size=${LIMIT_KIB}k`)), LIMITED]
export const READ_ONLY_DISKS: readonly Disk[] = allThatWork(mounted('ro'))
