import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { hookFolderSettings } from '../../src/guards/configured-hooks.ts'
import { loadHooks } from '../../src/guards/load-hooks.ts'
import { readProjectFolder, TrustStore } from '../../src/guards/trust.ts'
import { resolved } from '../plugin/config/scratch-home.ts'
import { afterwards } from '../support/afterwards.ts'
import { blocker, HooksScene, plain, withoutTimeLimit } from './hooks-scene.ts'

function settings(yaml: string, env: Readonly<Record<string, string>> = {}, home = '/home/a'): object {
  return hookFolderSettings(resolved({ yaml }).config, env, home)
}

const USUAL = {
  globalFolder: '/home/a/.config/hookspan/hooks',
  isGlobalFolderNamed: false,
  isProjectLocal: false,
  timeLimitMillis: undefined,
  options: {},
  privateFolder: '/home/a/.local/state/hookspan/hooks',
}

test.each<[string, object]>([
  ['', USUAL],
  ['hooks: /srv/hooks', { ...USUAL, globalFolder: '/srv/hooks', isGlobalFolderNamed: true }],
  ['hooks: false', { ...USUAL, globalFolder: undefined }],
  ['hooks: {project_local: true, time_limit_ms: 5}', { ...USUAL, isProjectLocal: true, timeLimitMillis: 5 }],
])('reads the settings of %j', (yaml, expected) => {
  expect(settings(yaml)).toEqual(expected)
})

test("uses the system's usual folders, and none without a home directory", () => {
  expect(settings('', { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s' })).toMatchObject({
    globalFolder: '/c/hookspan/hooks',
    privateFolder: '/s/hookspan/hooks',
  })
  expect(settings('', {}, '')).toMatchObject({ globalFolder: undefined, privateFolder: undefined })
})

/** A person with this configuration, as a program of theirs finds them. */
function sceneWith(yaml: string): HooksScene {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': blocker('a') })
  scene.put(scene.projectFolder, { 'p.mjs': blocker('p') })
  scene.put(join(scene.home, '.config', 'hookspan'), { 'config.yaml': yaml })
  vi.stubEnv('XDG_CONFIG_HOME', join(scene.home, '.config'))
  vi.stubEnv('XDG_STATE_HOME', join(scene.home, '.local', 'state'))
  afterwards(() => vi.unstubAllEnvs())
  return scene
}

test('reports an unusable file if it may configure hooks', async () => {
  const scene = sceneWith('hooks: {global_dir: /srv/hooks}\nsample_rate:\t[\n')
  const linesOf = async (options?: Parameters<typeof loadHooks>[0]): Promise<string[]> => {
    const { lines, close } = await withoutTimeLimit(() => loadHooks(options))
    close()
    return plain(lines, scene)
  }
  const line = expect.stringMatching(/^config: ~\/\.config\/hookspan\/config\.yaml: .*; no file is read/)
  expect(await linesOf()).toEqual([line])
  expect(await linesOf({ hooks: false })).toEqual([])
  vi.stubEnv('HOOKSPAN_CONFIG', join(scene.home, 'gone.yaml'))
  expect(await linesOf()).toEqual([
    expect.stringMatching(/^config: HOOKSPAN_CONFIG: it names a file that is not there/),
  ])
})

test("loads a program's configured hooks; its own options win", async () => {
  const scene = sceneWith('hooks: {project_local: true}\n')
  new TrustStore(scene.place).trust(readProjectFolder(scene.project)!)
  const names = async (options?: Parameters<typeof loadHooks>[0]): Promise<[string[] | undefined, string[]]> => {
    const { hooks, lines, close } = await withoutTimeLimit(() => loadHooks(options))
    close()
    return [hooks?.hooks.map(({ name }) => name), plain(lines, scene)]
  }
  expect(await names()).toEqual([['a'], []])
  expect(await names({ project: scene.project })).toEqual([['a', 'p'], []])
  expect(await names({ project: scene.project, hooks: false })).toEqual([undefined, []])
  expect(await names({ hooks: 'here' })).toEqual([
    ['a'],
    [
      'config: hooks: expected true, false, an absolute path or a mapping, got "here" (options in code); using what config.yaml line 1 says',
    ],
  ])
})

test('trusts nothing without a folder', async () => {
  const scene = new HooksScene()
  scene.put(scene.projectFolder, { 'p.mjs': blocker('p') })
  new TrustStore(scene.place).trust(readProjectFolder(scene.project)!)
  const { hooks, lines } = await scene.load({ isProjectLocal: true, privateFolder: undefined }, scene.project)
  expect(hooks).toBeUndefined()
  expect(lines).toHaveLength(1)
})
