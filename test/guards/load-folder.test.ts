import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { toolCallOf } from '../../src/guards/tool-call.ts'
import { readFolder, readProjectFolder, TrustStore } from '../../src/guards/trust.ts'
import { afterwards } from '../support/afterwards.ts'
import { about, blocker, HooksScene, plain } from './hooks-scene.ts'

const CALL = { tool: toolCallOf({ name: 'bash', arguments: { command: 'rm x' } }) }

test('loads the top-level files of the folder by name', async () => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, {
    'c.js': blocker('c'),
    'b/index.mjs': "import { name } from './name.mjs'\nexport const hook = { name, beforeTool() {} }\n",
    'b/name.mjs': "export const name = 'b'\n",
    'a.mjs': "export const hooks = [{ name: 'a1', beforeTurn() {} }, { name: 'a2', afterTurn() {} }]\n",
    'lib/shared.mjs': 'export const shared = 1\n',
    '.hidden.mjs': 'throw new Error()\n',
    'README.md': 'What these are.\n',
  })
  const { loaded, lines, hooks, notes } = await scene.load()
  expect([lines, notes]).toEqual([[], []])
  expect(loaded.map(({ hook, file }) => [hook.name, ...plain([file], scene)])).toEqual([
    ['a1', '~/.config/hookspan/hooks/a.mjs'],
    ['a2', '~/.config/hookspan/hooks/a.mjs'],
    ['b', '~/.config/hookspan/hooks/b/index.mjs'],
    ['c', '~/.config/hookspan/hooks/c.js'],
  ])
  expect(await hooks?.run('beforeTool', CALL, about())).toMatchObject({ decision: 'block', by: 'c', reason: 'c' })
})

test('passes options to a file, by its name with or without the extension', async () => {
  const scene = new HooksScene()
  const told = (name: string): string =>
    `export default async options => ({ name: '${name} ' + JSON.stringify(options), beforeTool() {} })\n`
  scene.put(scene.globalFolder, {
    'a.mjs': told('a'),
    'b.mjs': told('b'),
    'c/index.mjs': told('c'),
    'd.mjs': told('d'),
  })
  const options = { a: { max: 5 }, 'b.mjs': { isolate: false, on: true }, 'c/index.mjs': { x: [1] } }
  const { loaded, lines } = await scene.load({ options })
  expect(lines).toEqual([])
  expect(loaded.map(({ hook }) => hook.name)).toEqual(['a {"max":5}', 'b {"on":true}', 'c {"x":[1]}', 'd {}'])
})

test('reports options for a missing file: a guard without them may guard nothing', async () => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': blocker('a') })
  const { lines } = await scene.load({ options: { a: {}, aa: {} } })
  expect(plain(lines, scene)).toEqual(['hooks: there are options for aa, and no such file in ~/.config/hookspan/hooks'])
})

test('resolves hookspan/hooks for a hook of a folder', async () => {
  const scene = new HooksScene()
  const text = `import { block, defineHook } from 'hookspan/hooks'
    export default defineHook({ name: 'own', beforeTool: () => block('by import') })\n`
  scene.put(scene.globalFolder, { 'own.mjs': text })
  const { hooks, lines } = await scene.load()
  expect(lines).toEqual([])
  expect(await hooks?.run('beforeTool', CALL, about())).toMatchObject({ decision: 'block', reason: 'by import' })
})

const NONE =
  'it exports no hook: a hook, a list of hooks, or a function of its options that returns either, as default, "hook" or "hooks"'

test.each([
  ['throws', "throw new Error('no\\nluck')\n", 'is not loaded: no luck; fix it, or remove it from the folder'],
  [
    'throws in its function',
    'export default () => { throw 5 }\n',
    'is not loaded: 5; fix it, or remove it from the folder',
  ],
  ['imports what is not there', "import './b.mjs'\n", /is not loaded: Cannot find module .*b\.mjs/],
  ['exports nothing', 'export const x = 1\n', `is not loaded: ${NONE}; fix it, or remove it from the folder`],
  ['exports an empty list', 'export default []\n', `is not loaded: ${NONE}; fix it, or remove it from the folder`],
  ['exports what is no hook', 'export default [5, null]\n', ': a hook is an object with a name; it is left out'],
  ['has no phase', "export default { name: 'x' }\n", /: the hook "x" has no phase: .*; it is left out/],
])('reports a file that %s, and loads all others', async (_, text, line) => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': text, 'z.mjs': blocker('z') })
  const { loaded, lines } = await scene.load()
  expect(loaded.map(({ hook }) => hook.name)).toEqual(['z'])
  const [said = ''] = plain(lines, scene)
  expect(said.startsWith('hooks: ~/.config/hookspan/hooks/a.mjs')).toBe(true)
  if (typeof line === 'string')
    expect(said).toBe(`hooks: ~/.config/hookspan/hooks/a.mjs${line[0] === ':' ? '' : ' '}${line}`)
  else expect(said).toMatch(line)
})

test('reports a file that never finishes loading, and loads all others', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  afterwards(() => vi.useRealTimers())
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': 'await new Promise(() => undefined)\n', 'z.mjs': blocker('z') })
  const loading = scene.load()
  while (vi.getTimerCount() === 0) await new Promise(setImmediate)
  await vi.advanceTimersByTimeAsync(10_000)
  const { loaded, lines } = await loading
  expect(loaded.map(({ hook }) => hook.name)).toEqual(['z'])
  expect(plain(lines, scene)).toEqual([
    'hooks: ~/.config/hookspan/hooks/a.mjs is not loaded: it was not ready within 10 s; fix it, or remove it from the folder',
  ])
})

test('keeps the first hook of a name', async () => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': blocker('same'), 'b.mjs': blocker('same') })
  const { loaded, lines } = await scene.load()
  expect(loaded).toHaveLength(1)
  expect(plain(lines, scene)).toEqual([
    'hooks: ~/.config/hookspan/hooks/b.mjs: there is a hook "same" in ~/.config/hookspan/hooks/a.mjs already; give one another name',
  ])
})

test('loads no file that other users can write', async () => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': blocker('a'), 'b.mjs': blocker('b'), 'c/index.mjs': blocker('c') })
  chmodSync(join(scene.globalFolder, 'a.mjs'), 0o620)
  chmodSync(join(scene.globalFolder, 'c'), 0o777)
  const { loaded, lines } = await scene.load()
  expect(loaded.map(({ hook }) => hook.name)).toEqual(['b'])
  expect(plain(lines, scene).sort()).toEqual([
    'hooks: ~/.config/hookspan/hooks/a.mjs is not loaded: others may write to it: chmod go-w ~/.config/hookspan/hooks/a.mjs',
    'hooks: ~/.config/hookspan/hooks/c is not loaded: others may write to it: chmod go-w ~/.config/hookspan/hooks/c',
  ])
  chmodSync(scene.globalFolder, 0o770)
  expect(plain((await scene.load()).lines, scene)).toEqual([
    'hooks: ~/.config/hookspan/hooks is not loaded: others may write to it: chmod go-w ~/.config/hookspan/hooks',
  ])
})

const JUDGE = 'export default options => ({ name: JSON.stringify(options), beforeTool() {} })\n'
const FULL = 33 * 1024 * 1024

test.each<[string, string, (folder: string) => void]>([
  ['a file that others may write to', 'judge.mjs', folder => chmodSync(join(folder, 'judge.mjs'), 0o664)],
  ['a folder that others may write to', 'judge/index.mjs', folder => chmodSync(join(folder, 'judge'), 0o777)],
  ['a file in such a folder', 'judge/index.mjs', folder => chmodSync(join(folder, 'judge/index.mjs'), 0o664)],
  ['a link that leads nowhere', 'other.mjs', folder => symlinkSync('/nowhere', join(folder, 'judge.mjs'))],
  ['a folder of hooks that others may write to', 'judge.mjs', folder => chmodSync(folder, 0o777)],
  ['a folder of hooks that is full', 'judge.mjs', folder => truncateSync(join(folder, 'judge.mjs'), FULL)],
])('passes the options of %s to no file of a project', async (_, path, spoil) => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { [path]: blocker('own') })
  scene.put(scene.projectFolder, { 'judge.mjs': JUDGE })
  new TrustStore(scene.place).trust(readProjectFolder(scene.project)!)
  spoil(scene.globalFolder)
  const options = { judge: { api_key: 'k' } }
  const { loaded, lines } = await scene.load({ isProjectLocal: true, options }, scene.project)
  expect(loaded.map(({ hook }) => hook.name).filter(name => name !== 'own')).toEqual(['{}'])
  expect(lines).toHaveLength(1)
})

test('loads other files beside a broken link', async () => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': blocker('a'), 'z.mjs': blocker('z') })
  symlinkSync('/nowhere', join(scene.globalFolder, 'b.mjs'))
  const { loaded, lines } = await scene.load()
  expect(loaded.map(({ hook }) => hook.name)).toEqual(['a', 'z'])
  expect(plain(lines, scene)).toEqual([
    expect.stringMatching(/^hooks: ~\/\.config\/hookspan\/hooks\/b\.mjs is not loaded: /),
  ])
})

test('follows links of the user, and ends at a cycle', async () => {
  const scene = new HooksScene()
  scene.put(join(scene.home, 'dotfiles'), { 'a.mjs': blocker('a') })
  mkdirSync(scene.globalFolder, { recursive: true })
  symlinkSync(join(scene.home, 'dotfiles', 'a.mjs'), join(scene.globalFolder, 'a.mjs'))
  symlinkSync(scene.globalFolder, join(scene.globalFolder, 'again'))
  const { loaded, lines } = await scene.load()
  expect(loaded.map(({ hook }) => hook.name)).toEqual(['a'])
  expect(lines.join('\n')).toMatch(/is nested too deeply/)
})

test('does not load a folder that is a whole disk', async () => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': blocker('a') })
  scene.put(scene.globalFolder, { 'b.bin': '' })
  truncateSync(join(scene.globalFolder, 'b.bin'), 33 * 1024 * 1024)
  const { lines, loaded } = await scene.load()
  expect(lines.join('\n')).toMatch(/holds more than 2000 files or 32 MiB/)
  // What was read before it was full, by chance, would be guards without the others.
  expect(loaded).toEqual([])
})

test('runs a copy for this process alone, and removes those of ended processes', async () => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': 'export default { name: import.meta.url, beforeTool() {} }\n' })
  // No process has this number.
  mkdirSync(join(scene.place, 'run-4194999-x'), { recursive: true, mode: 0o700 })
  const { loaded, close } = await scene.load()
  expect(loaded[0]?.hook.name).toContain(`${scene.place}/run-${process.pid}-`)
  expect(readdirSync(scene.place)).toHaveLength(1)
  close()
  expect(readdirSync(scene.place)).toEqual([])
})

test.each([
  ['there is no such folder', {}],
  ['no folder is configured', { globalFolder: undefined }],
])('finds no hooks, without a line: %s', async (_, settings) => {
  expect(await new HooksScene().load(settings)).toMatchObject({ hooks: undefined, lines: [], notes: [], loaded: [] })
})

test('reports a folder that cannot be copied', async () => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': blocker('a') })
  writeFileSync(join(scene.home, 'file'), '')
  const { hooks, lines } = await scene.load({ privateFolder: join(scene.home, 'file', 'x') })
  expect(hooks).toBeUndefined()
  expect(plain(lines, scene)).toEqual([
    'hooks: ~/.config/hookspan/hooks is not loaded: no copy of it can be run from ~/file/x: a part of the path is not a directory',
  ])
})

const HARMLESS = "export default { name: 'x', beforeTurn() {} }\n"

test.each<[string, Readonly<Record<string, string>>]>([
  ['throws', { 'a.mjs': "throw new Error('no luck')\n" }],
  ['exports what is no hook', { 'a.mjs': 'export default [{}]\n' }],
  ['is not there', { 'b.mjs': blocker('b') }],
  ['exports a hook, and what is none', { 'a.mjs': "export default [{ name: 'x', beforeTurn() {} }, {}]\n" }],
  ['exports one name twice', { 'a.mjs': "export default [1, 2].map(() => ({ name: 'x', beforeTurn() {} }))\n" }],
  ['has the name of a hook in another one', { '_.mjs': HARMLESS, 'a.mjs': HARMLESS }],
  ['is broken beside another of its name', { 'a.js': HARMLESS, 'a.mjs': 'export default 5\n' }],
])('blocks everything until a required file loads that %s', async (_, files) => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, files)
  const { hooks, lines } = await scene.load({ options: { a: { required: true } } })
  expect(lines).toHaveLength(1)
  const closed = { decision: 'block', by: 'required:a', reason: 'A hook that is required here could not be loaded.' }
  expect(await hooks?.run('beforeTool', CALL, about())).toMatchObject(closed)
  expect(await hooks?.run('beforeTurn', { prompt: 'x' }, about())).toMatchObject(closed)
  for (const path of Object.keys(files)) rmSync(join(scene.globalFolder, path))
  scene.put(scene.globalFolder, { 'a.mjs': blocker('a') })
  const now = await scene.load({ options: { a: { required: true } } })
  expect(now.loaded.map(({ hook }) => hook.name)).not.toContain('required:a')
})

test('stays closed for a required file that only a trusted project has, with the reason and the fix', async () => {
  const scene = new HooksScene()
  scene.put(scene.projectFolder, { 'a.mjs': blocker('a') })
  new TrustStore(scene.place).trust(readProjectFolder(scene.project)!)
  const settings = { isProjectLocal: true, options: { a: { required: true } } }
  const { hooks, lines } = await scene.load(settings, scene.project)
  expect(hooks?.hooks.map(({ name }) => name)).toEqual(['required:a', 'a'])
  expect(plain(lines, scene)).toEqual([
    "hooks: required is for files of your own folder, and a is in the project's: everything is blocked until it is in ~/.config/hookspan/hooks, or required is removed from its options",
  ])
  expect(await hooks?.run('beforeTool', CALL, about())).toMatchObject({
    decision: 'block',
    by: 'required:a',
    reason: "A hook that is required here is in the project's folder, and must be in the user's own folder.",
    detail: "required is for files of your own folder; a is in the project's",
  })
})

test('reports a required file that does not exist, even if it may be meant for a project', async () => {
  const scene = new HooksScene()
  const { lines } = await scene.load({ isProjectLocal: true, options: { a: { required: true }, b: {} } })
  expect(plain(lines, scene)).toEqual([
    'hooks: a is required, and no such file of ~/.config/hookspan/hooks is loaded: everything is blocked until one is, or required is removed from its options',
  ])
})

test('blocks for a required file if its folder is rejected, but not if hooks are off', async () => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': blocker('a') })
  chmodSync(scene.globalFolder, 0o777)
  const options = { 'a.mjs': { required: true } }
  expect((await scene.load({ options })).hooks?.hooks).toMatchObject([{ name: 'required:a', onFailure: 'block' }])
  expect((await scene.load({ options, globalFolder: undefined })).hooks).toBeUndefined()
})

test('does not load files of another user', async () => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': blocker('a') })
  if (process.getuid?.() === 0) for (const path of ['', 'a.mjs']) chownSync(join(scene.globalFolder, path), 4242, 4242)
  vi.spyOn(process, 'geteuid').mockReturnValue(4343)
  const { lines } = readFolder(scene.globalFolder, { followsLinks: true })
  vi.restoreAllMocks()
  expect(plain(lines, scene)).toEqual(['hooks: ~/.config/hookspan/hooks is not loaded: it belongs to another user'])
})
