import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ROOT, read } from './support/pages.ts'

const home = mkdtempSync(join(tmpdir(), 'hookspan-extending-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Each program of the page, with what the page says that it prints. */
const PROGRAMS = [...read('docs/extending.md').matchAll(/```js\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/g)].map(
  ([, program = '', printed = '']) => ({ program, printed }),
)

test('there is a program for each way to extend', () => {
  const options = ['enrich', 'redact', 'spanProcessors', 'metricReaders', 'logger', 'tags']
  const shown = options.filter(option => PROGRAMS.some(({ program }) => new RegExp(`\\b${option}\\b`).test(program)))
  expect(shown).toEqual(options)
  expect(PROGRAMS).toHaveLength([...read('docs/extending.md').matchAll(/```js\n/g)].length)
})

test.each(PROGRAMS)('the page says what is printed by\n$program', ({ program, printed }) => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], HOME: home, XDG_STATE_HOME: home },
    encoding: 'utf8',
  })
  expect({ stdout, stderr }).toEqual({ stdout: printed, stderr: '' })
})
