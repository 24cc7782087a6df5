import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ROOT } from '../support/pages.ts'

let project = ''

/** A project in TypeScript that has installed us. */
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'hookspan-types-'))
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(ROOT, join(project, 'node_modules', 'hookspan'))
})

afterEach(() => rmSync(project, { recursive: true, force: true }))

interface Libraries {
  readonly lib: readonly string[]
  readonly types: readonly string[]
}

/** What the compiler complains of in programs, by their names, checking the declarations of packages, too. */
function complaints(programs: Readonly<Record<string, string>>, { lib, types }: Libraries): string[] {
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2022', strict: true, noEmit: true, skipLibCheck: false, lib, types },
    typeRoots: [join(ROOT, 'node_modules/@types')],
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(programs) }))
  for (const [name, program] of Object.entries(programs)) writeFileSync(join(project, name), program)
  try {
    execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', project], { stdio: 'pipe' })
    return []
  } catch (error) {
    return String((error as { stdout: Buffer }).stdout)
      .split('\n')
      .filter(line => line !== '')
  }
}

const PROGRAM = `
import { type Context, createPlugin, type Plugin, type PluginOptions, type SpanIds } from 'hookspan'
const parent: PluginOptions['parent'] = 'active'
const hooks: Plugin = createPlugin({ parent })
const ids: SpanIds = { tool_call_id: 'c1' }
export const held: Context = hooks.context(ids)
export const ended: Promise<void> = hooks[Symbol.asyncDispose]()
`
const USING = `
import { createPlugin } from 'hookspan'
await using hooks = createPlugin()
hooks.emit('on_session_start', { session_id: 's1' })
`
const WRONG = `
import { createPlugin } from 'hookspan'
createPlugin({ parent: 'nested' })
createPlugin().context('c1')
`

test('compiles the exports with the types of Node, and rejects invalid parents and ids', () => {
  const programs = { 'user.mts': PROGRAM, 'using.mts': USING, 'wrong.mts': WRONG }
  const said = complaints(programs, { lib: ['es2022'], types: ['node'] })
  expect(said.map(line => /\w+\.mts\(\d+/.exec(line)?.[0])).toEqual(['wrong.mts(3', 'wrong.mts(4'])
})

test('compiles the exports with all libraries of TypeScript', () => {
  expect(complaints({ 'user.mts': PROGRAM, 'using.mts': USING }, { lib: ['esnext'], types: ['node'] })).toEqual([])
})

test('requires no library for disposal', () => {
  const said = complaints({ 'user.mts': PROGRAM }, { lib: ['es2022', 'dom'], types: [] })
  expect(said.filter(line => /asyncDispose|user\.mts/.test(line))).toEqual([])
})
