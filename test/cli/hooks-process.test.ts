/** Hooks of folders as they are published: native imports, and a thread out of `dist`. */
import { chmodSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HooksScene } from '../guards/hooks-scene.ts'
import { afterwards } from '../support/afterwards.ts'
import { type Ended, Program } from './program.ts'

async function run(files: Readonly<Record<string, string>>, yaml: string, ...args: string[]): Promise<Ended> {
  const program = new Program()
  afterwards(() => program.remove())
  const scene = new HooksScene()
  chmodSync(program.home, 0o700)
  scene.put(join(program.home, '.config', 'hookspan'), { 'config.yaml': yaml })
  scene.put(join(program.home, '.config', 'hookspan', 'hooks'), files)
  const record = { hook: 'pre_tool_call', payload: { session_id: 's', tool_name: 'bash', args: { command: 'rm x' } } }
  const ended = await program.run(args, { input: `${JSON.stringify(record)}\n` })
  // Nothing of it is left behind.
  expect(readdirSync(join(program.home, '.local', 'state', 'hookspan', 'hooks'))).toEqual([])
  return ended
}

const GUARD = `import { block, defineHook } from 'hookspan/hooks'
export default defineHook({
  name: 'no-rm',
  beforeTool: ({ tool }) => (tool.command === 'rm x' ? block('Files are not deleted here.') : undefined),
})
`
const FILE = join('.config', 'hookspan', 'hooks', 'no-rm.mjs')

test.each([
  ['here', ''],
  ['in a thread', 'hooks: {options: {no-rm: {isolate: true}}}\n'],
])('loads and asks a guard that imports hookspan/hooks: %s', async (_, yaml) => {
  const { code, stdout, stderr } = await run({ 'no-rm.mjs': GUARD }, yaml, 'hooks', 'test', FILE, '-')
  expect(stderr).toBe('')
  expect(stdout).toMatch(/beforeTool +bash +no-rm +block +Files are not deleted here\.\n/)
  expect(code).toBe(0)
})

test('ends an endless loop in a thread, and the program', async () => {
  const text = "export default { name: 'loop', timeLimitMillis: 100, beforeTool() { while (true); } }\n"
  const yaml = 'hooks: {options: {no-rm: {isolate: true}}}\n'
  const { code, stdout, stderr } = await run({ 'no-rm.mjs': text }, yaml, 'hooks', 'test', FILE, '-')
  expect(stderr).toBe('hookspan hooks: hook loop failed in beforeTool, which counts as pass: no answer within 100 ms\n')
  expect(stdout).toMatch(/beforeTool +bash +loop +failed +no answer within 100 ms\n/)
  expect(code).toBe(0)
})

test('reports a syntax error with its place', async () => {
  const { code, stderr } = await run({ 'no-rm.mjs': '\n\nexport default {{\n' }, '', 'hooks')
  expect(stderr).toMatch(
    /^hookspan: hooks: \S+no-rm\.mjs is not loaded: Unexpected token '\{' \(node --check says where\); fix it/,
  )
  expect(code).toBe(1)
})
