/** Where the disk is full, no file is named as the place of what is not in it. */
import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Disk, FULL_DISKS } from '../reliability/small-disk.ts'
import { fixture, Program, REPOSITORY } from './program.ts'

const TURN = fixture('hermes-turn.jsonl')
const FULL = 'dd if=/dev/zero of="$1/filler" bs=1024 2>/dev/null; shift; exec "$@"'

let program: Program
beforeEach(() => {
  program = new Program()
})
afterEach(() => program.remove())

/** On a disk on which nothing more can be stored. */
async function onFullDisk({ under }: Disk, directory: string, args: readonly string[]) {
  mkdirSync(directory, { recursive: true })
  const main = [process.execPath, join(REPOSITORY, 'dist/cli/main.js'), ...args]
  const [command = '', ...rest] = [...under(directory), 'sh', '-c', FULL, 'sh', directory, ...main]
  const env = { PATH: process.env['PATH'], HOME: program.home, XDG_STATE_HOME: directory }
  return promisify(execFile)(command, rest, { env }).catch((error: { stdout: string; stderr: string }) => error)
}

// Only a mounted one can be filled by somebody else than the program.
test.each(FULL_DISKS.filter(({ how }) => how.startsWith('tmpfs')))('stores nothing, $how', async disk => {
  const directory = join(program.home, 'disk')
  const { stderr } = await onFullDisk(disk, directory, ['replay', TURN])
  expect(stderr).toContain('13 spans; nothing is stored\n')
  const { stdout } = await onFullDisk(disk, directory, ['demo'])
  expect(stdout).toContain('\nNothing is stored; nothing has left this machine.\n')
})

test('reports with replay --out that a full file accepts nothing', async () => {
  const { stderr, code } = await program.run(['replay', TURN, '--out', '/dev/full'])
  expect(code).toBe(1)
  expect(stderr).toContain('13 spans; nothing is written\n')
  expect(stderr).not.toContain('written to /dev/full')
})

test.each([['replay', TURN], ['demo']])('does not hang in %s for a state directory below /proc', async (...args) => {
  const { stdout, stderr } = await program.run(args, { env: { XDG_STATE_HOME: '/proc/hookspan-nowhere' } })
  expect(`${stdout}${stderr}`).toMatch(/ot stored, because .* cannot be written: there is no such file or directory/)
})
