import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ROOT, read } from './support/pages.ts'

const home = mkdtempSync(join(tmpdir(), 'hookspan-extending-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** The part of docs/own-agent.md whose programs have their output below them. */
const PAGE = read('docs/own-agent.md').split('\n## Extend hookspan\n')[1] ?? ''

/** Each program with the output that the page shows. */
const PROGRAMS = [...PAGE.matchAll(/```js\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/g)].map(
  ([, program = '', printed = '']) => ({ program, printed }),
)

test('shows a program for each way to extend', () => {
  const options = ['enrich', 'redact', 'spanProcessors', 'metricReaders', 'logger', 'tags']
  const shown = options.filter(option => PROGRAMS.some(({ program }) => new RegExp(`\\b${option}\\b`).test(program)))
  expect(shown).toEqual(options)
  expect(PROGRAMS).toHaveLength([...PAGE.matchAll(/```js\n/g)].length)
})

test.each(PROGRAMS)("prints the page's output:\n$program", ({ program, printed }) => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], HOME: home, XDG_STATE_HOME: home },
    encoding: 'utf8',
  })
  expect({ stdout, stderr }).toEqual({ stdout: printed, stderr: '' })
})
