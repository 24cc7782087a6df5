import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { blocks, ROOT, read } from './support/pages.ts'

const PAGE = read('docs/opentelemetry.md')
const [TELEMETRY = '', ...PROGRAMS] = blocks(PAGE, 'js')
const PRINTED = blocks(PAGE, 'text')

let project = ''

/** A project that has installed what the page imports. */
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'hookspan-page-'))
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(ROOT, join(project, 'node_modules', 'hookspan'))
  symlinkSync(join(ROOT, 'node_modules', '@opentelemetry'), join(project, 'node_modules', '@opentelemetry'))
  writeFileSync(join(project, 'telemetry.mjs'), TELEMETRY)
})

afterEach(() => rmSync(project, { recursive: true, force: true }))

test('shows an output for each program of docs/opentelemetry.md', () => {
  expect(TELEMETRY).toMatch(/^\/\/ telemetry\.mjs\n/)
  expect(PROGRAMS.length).toBeGreaterThan(0)
  expect(PRINTED).toHaveLength(PROGRAMS.length)
})

test.each(PROGRAMS.map((program, index) => [program, PRINTED[index]]))('prints:\n%s', (program, printed) => {
  const path = join(project, 'program.mjs')
  writeFileSync(path, program)
  const env = { PATH: process.env['PATH'], HOME: project, XDG_STATE_HOME: project }
  expect(execFileSync(process.execPath, [path], { cwd: project, env, encoding: 'utf8', stdio: 'pipe' })).toBe(printed)
})
