import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { UNLESS_UP } from '../../src/cli/init/hook-command.ts'
import { afterwards } from '../support/afterwards.ts'

/** Prints what it reads, and its arguments. */
const PROGRAM = ['sh', '-c', 'cat; echo "$@"', 'sh', 'claude-code']

test.runIf(process.platform !== 'win32').each([
  ['the receiver runs', `${process.pid}\n`, ''],
  ['the receiver was killed', '4194303\n', 'an event claude-code\n'],
  ['the file is empty', '', 'an event claude-code\n'],
  ['there is no file', undefined, 'an event claude-code\n'],
])('the shell script, when %s', (_, pid, expected) => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-pid-'))
  afterwards(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'a pid')
  if (pid !== undefined) writeFileSync(file, pid)
  const { status, stdout, stderr, error } = spawnSync('sh', ['-c', UNLESS_UP, 'sh', file, ...PROGRAM], {
    input: 'an event ',
    encoding: 'utf8',
  })
  expect({ status, stdout, stderr, error }).toEqual({ status: 0, stdout: expected, stderr: '', error: undefined })
})
