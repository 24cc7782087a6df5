import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hashOf, readProjectFolder, TrustStore } from '../../src/guards/trust.ts'
import fc from '../support/fast-check.ts'
import { blocker, HooksScene, plain } from './hooks-scene.ts'

function sceneWith(files: Readonly<Record<string, string>>): HooksScene {
  const scene = new HooksScene()
  scene.put(scene.projectFolder, files)
  return scene
}

function trust(scene: HooksScene): void {
  new TrustStore(scene.place).trust(readProjectFolder(scene.project)!)
}

async function namesAndLines(scene: HooksScene, isProjectLocal = true): Promise<[string[], string[], string[]]> {
  const { loaded, lines, notes } = await scene.load({ isProjectLocal }, scene.project)
  return [loaded.map(({ hook }) => hook.name), plain(lines, scene), plain(notes, scene)]
}

const FOLDER = '~/project/.hookspan/hooks'
const UNTRUSTED = `hooks: ${FOLDER} is not loaded: it is not trusted; review it, then run: hookspan hooks trust`
const CHANGED = `hooks: ${FOLDER} is not loaded: it has changed since it was trusted; review it, then run: hookspan hooks trust`

test('loads a project only if it is enabled and trusted', async () => {
  const scene = sceneWith({ 'a.mjs': blocker('a') })
  scene.put(scene.globalFolder, { 'g.mjs': blocker('g') })
  expect(await namesAndLines(scene, false)).toEqual([
    ['g'],
    [],
    [`${FOLDER} is not loaded: hooks.project_local is off`],
  ])
  expect(await namesAndLines(scene)).toEqual([['g'], [UNTRUSTED], []])
  trust(scene)
  expect(await namesAndLines(scene)).toEqual([['g', 'a'], [], []])
  expect(await namesAndLines(scene, false)).toEqual([
    ['g'],
    [],
    [`${FOLDER} is not loaded: hooks.project_local is off`],
  ])
  expect((await scene.load({ isProjectLocal: true }, undefined)).loaded).toHaveLength(1)
})

test.each<[string, (scene: HooksScene) => void]>([
  ['a file with other contents', scene => scene.put(scene.projectFolder, { 'a.mjs': `${blocker('a')} ` })],
  ['a file more', scene => scene.put(scene.projectFolder, { 'notes.txt': '' })],
  ['a file less', scene => rmSync(join(scene.projectFolder, 'lib', 'b.mjs'))],
  ['another name', scene => renameSync(join(scene.projectFolder, 'lib'), join(scene.projectFolder, 'libs'))],
])('is lost until the file is as before: %s', async (_, change) => {
  const scene = sceneWith({ 'a.mjs': blocker('a'), 'lib/b.mjs': '' })
  trust(scene)
  expect(await namesAndLines(scene)).toEqual([['a'], [], []])
  change(scene)
  expect(await namesAndLines(scene)).toEqual([[], [CHANGED], []])
  rmSync(scene.projectFolder, { recursive: true })
  scene.put(scene.projectFolder, { 'a.mjs': blocker('a'), 'lib/b.mjs': '' })
  expect(await namesAndLines(scene)).toEqual([['a'], [], []])
})

test('trusts files in one folder only', async () => {
  const scene = sceneWith({ 'a.mjs': blocker('a') })
  trust(scene)
  const other = join(scene.home, 'other')
  scene.put(join(other, '.hookspan', 'hooks'), { 'a.mjs': blocker('a') })
  expect((await scene.load({ isProjectLocal: true }, other)).loaded).toEqual([])
})

test.each<[string, (scene: HooksScene) => void, string]>([
  [
    'a link in it',
    scene => symlinkSync('/etc/hostname', join(scene.projectFolder, 'x')),
    `hooks: ${FOLDER}/x is not loaded: it is a symbolic link, behind which anything may change`,
  ],
  [
    'the folder is a link',
    scene => {
      renameSync(scene.projectFolder, join(scene.project, 'real'))
      symlinkSync(join(scene.project, 'real'), scene.projectFolder)
    },
    `hooks: ${FOLDER} is not loaded: it is a symbolic link, behind which anything may change`,
  ],
  [
    'the folder above is a link',
    scene => {
      renameSync(join(scene.project, '.hookspan'), join(scene.project, 'real'))
      symlinkSync(join(scene.project, 'real'), join(scene.project, '.hookspan'))
    },
    'hooks: ~/project/.hookspan is not loaded: it is a symbolic link',
  ],
  [
    'a file that others may write to',
    scene => chmodSync(join(scene.projectFolder, 'a.mjs'), 0o622),
    `hooks: ${FOLDER}/a.mjs is not loaded: others may write to it: chmod go-w ${FOLDER}/a.mjs`,
  ],
])('loads none of a folder that was trusted: %s', async (_, change, line) => {
  const scene = sceneWith({ 'a.mjs': blocker('a'), 'b.mjs': blocker('b') })
  trust(scene)
  change(scene)
  expect(await namesAndLines(scene)).toEqual([[], [line], []])
})

test('keeps hooks and options of the user from being replaced by a project', async () => {
  const telling = (name: string): string =>
    `export default options => ({ name: '${name}' + Object.keys(options), beforeTool() {} })\n`
  const scene = sceneWith({ 'mine.mjs': telling('p'), 'guard.mjs': blocker('guard'), 'own.mjs': telling('o') })
  scene.put(scene.globalFolder, { 'mine.mjs': telling('g'), 'z.mjs': blocker('guard') })
  trust(scene)
  const options = { 'mine.mjs': { key: 's3cret' }, own: { x: 1 } }
  const { loaded, lines } = await scene.load({ isProjectLocal: true, options }, scene.project)
  expect(loaded.map(({ hook }) => hook.name)).toEqual(['gkey', 'guard', 'p', 'ox'])
  expect(plain(lines, scene)).toEqual([
    `hooks: ${FOLDER}/guard.mjs: there is a hook "guard" in ~/.config/hookspan/hooks/z.mjs already; give one another name`,
  ])
})

test.each<[string, (scene: HooksScene) => void]>([
  ['is not there', () => undefined],
  [
    'is empty, as a place where nothing is mounted is',
    scene => mkdirSync(scene.globalFolder, { recursive: true, mode: 0o700 }),
  ],
])('may apply any option to a configured folder that %s', async (_, make) => {
  const told = "export default options => ({ name: 'o' + Object.keys(options), beforeTool() {} })\n"
  const scene = sceneWith({ 'mine.mjs': told })
  make(scene)
  trust(scene)
  const options = { mine: { token: 's3cret' } }
  const settings = { isProjectLocal: true, options }
  const { loaded, lines } = await scene.load({ ...settings, isGlobalFolderNamed: true }, scene.project)
  expect(loaded.map(({ hook }) => hook.name)).toEqual(['o'])
  expect(plain(lines, scene)).toEqual([
    'hooks: there are no hooks in ~/.config/hookspan/hooks, which hooks.global_dir names',
  ])
  const unnamed = await scene.load(settings, scene.project)
  expect([unnamed.loaded.map(({ hook }) => hook.name), unnamed.lines]).toEqual([['otoken'], []])
})

test('trusts nothing if other users could have written the list', async () => {
  const scene = sceneWith({ 'a.mjs': blocker('a') })
  trust(scene)
  const file = join(scene.place, 'trusted.json')
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
  chmodSync(file, 0o606)
  expect(await namesAndLines(scene)).toEqual([[], [UNTRUSTED], []])
  chmodSync(file, 0o600)
  expect(await namesAndLines(scene)).toEqual([['a'], [], []])
  const text = readFileSync(file, 'utf8')
  rmSync(file)
  writeFileSync(join(scene.home, 'list'), text, { mode: 0o600 })
  symlinkSync(join(scene.home, 'list'), file)
  expect(await namesAndLines(scene)).toEqual([[], [UNTRUSTED], []])
  rmSync(file)
  for (const broken of ['', '[', '5', 'null', '{"x": 5}']) {
    writeFileSync(file, broken, { mode: 0o600 })
    expect(await namesAndLines(scene)).toEqual([[], [UNTRUSTED], []])
  }
})

test('revokes trust', () => {
  const scene = sceneWith({ 'a.mjs': blocker('a') })
  const store = new TrustStore(scene.place)
  expect(store.revoke(scene.projectFolder)).toBe(false)
  trust(scene)
  expect(store.hashOf(scene.projectFolder)).toMatch(/^[0-9a-f]{64}$/)
  expect(store.revoke(scene.projectFolder)).toBe(true)
  expect(store.hashOf(scene.projectFolder)).toBeUndefined()
  expect(store.hashOf('__proto__')).toBeUndefined()
})

test('hashes different files differently', () => {
  const sets = fc.uniqueArray(fc.tuple(fc.string({ maxLength: 3 }), fc.string({ maxLength: 3 })), {
    selector: ([path]) => path,
    maxLength: 4,
  })
  const filesOf = (set: readonly (readonly [string, string])[]) =>
    set.map(([path, text]) => ({ path, bytes: Buffer.from(text) }))
  const sorted = (set: readonly (readonly [string, string])[]) =>
    JSON.stringify([...set].sort(([a], [b]) => (a < b ? -1 : 1)))
  fc.assert(
    fc.property(sets, sets, (one, other) => {
      expect(hashOf(filesOf(one)) === hashOf(filesOf(other))).toBe(sorted(one) === sorted(other))
      expect(hashOf(filesOf([...one].reverse()))).toBe(hashOf(filesOf(one)))
    }),
  )
})
