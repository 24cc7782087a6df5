import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { UNLESS_UP } from '../../src/cli/init/hooks-host.ts'
import { afterwards } from '../support/afterwards.ts'
import { until } from '../support/until.ts'

/** Prints what it reads, and its arguments. */
const PROGRAM = ['sh', '-c', 'cat; echo "$@"', 'sh', 'claude-code']

test.runIf(process.platform !== 'win32').each([
  ['the receiver runs', `${process.pid}\n`, ''],
  ['the receiver was killed', '4194303\n', 'an event claude-code\n'],
  ['the file is empty', '', 'an event claude-code\n'],
  ['there is no file', undefined, 'an event claude-code\n'],
])('sends from the shell script unless a receiver runs: %s', (_, pid, expected) => {
  expect(ran(pid)).toEqual({ status: 0, stdout: expected, stderr: '', error: undefined })
})

test.runIf(process.platform === 'linux')(
  'sends from the shell script when the killed receiver is a zombie',
  async () => {
    // The shell becomes a program that never collects its child. Only then the child's input is closed, and it ends.
    const script = 'cat <&3 >/dev/null & echo $!; exec sleep 60'
    const parent = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore', 'pipe'] })
    afterwards(() => parent.kill('SIGKILL'))
    const pid = await new Promise<string>(resolve => parent.stdout?.once('data', text => resolve(String(text))))
    await until(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8').trim() === 'sleep')
    ;(parent.stdio[3] as Writable).end()
    await until(() => / Z /.test(readFileSync(`/proc/${pid.trim()}/stat`, 'utf8')))
    expect(ran(pid).stdout).toBe('an event claude-code\n')
  },
)

/** @param pid what is in the file; undefined: there is none */
function ran(pid: string | undefined): {
  status: number | null
  stdout: string
  stderr: string
  error: Error | undefined
} {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-pid-'))
  afterwards(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'a pid')
  if (pid !== undefined) writeFileSync(file, pid)
  const { status, stdout, stderr, error } = spawnSync('sh', ['-c', UNLESS_UP, 'sh', file, ...PROGRAM], {
    input: 'an event ',
    encoding: 'utf8',
  })
  return { status, stdout, stderr, error }
}
