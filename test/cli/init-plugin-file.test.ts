import { chmodSync, existsSync, lstatSync, mkdirSync, readlinkSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { InitScene } from './init-scene.ts'

let scene: InitScene
beforeEach(() => {
  scene = new InitScene()
})
afterEach(() => scene.remove())

const HOSTS = [
  ['pi', '.pi/agent/extensions/hookspan.js'],
  ['opencode', '.config/opencode/plugins/hookspan.js'],
  ['kilo', '.config/kilo/plugins/hookspan.js'],
] as const

/** Kilo takes opencode's plugin. */
function moduleOf(host: string): string {
  return host === 'kilo' ? 'opencode' : host
}

function content(host: string, folder = scene.folder): string {
  return [
    `// Written by "hookspan init ${host}"; "hookspan init ${host} --undo" removes it.`,
    `export { ${host === 'pi' ? 'default' : 'HookspanPlugin'} } from '${folder}/dist/agents/${moduleOf(host)}/index.js'`,
    '',
  ].join('\n')
}

describe.each(HOSTS)('hookspan init %s', (host, file) => {
  test('writes the file that the host looks for, and reports it', async () => {
    const { code, stdout, stderr } = await scene.init([host])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(scene.read(file)).toBe(content(host))
    expect(scene.mode(file)).toBe('600')
    expect(scene.mode(dirname(file))).toBe('700')
    const shown = content(host)
      .trimEnd()
      .split('\n')
      .map(line => `+ ${line}`)
    expect(stdout.split('\n').slice(0, 3)).toEqual([`${scene.path(file)} (new)`, ...shown])
    expect(stdout).toMatch(/Done: \w+ will load hookspan\./)
    expect(stdout).toContain(`hookspan init ${host} --undo\n`)
  })

  test('has nothing to do the second time', async () => {
    await scene.init([host])
    const names = scene.names()
    const { code, stdout } = await scene.init([host])
    expect(code).toBe(0)
    expect(stdout).toMatch(new RegExp(`^Nothing to do: \\w+ loads hookspan already \\(${scene.path(file)}\\)\\.\n$`))
    expect(scene.names()).toEqual(names)
  })

  test('leaves the other plugins alone', async () => {
    const other = join(dirname(dirname(file)), 'other.js')
    scene.put(other, 'export default 1')
    await scene.init([host])
    await scene.init([host, '--undo'])
    expect(existsSync(scene.path(file))).toBe(false)
    expect(scene.read(other)).toBe('export default 1')
  })

  test('leaves nothing behind after --undo', async () => {
    mkdirSync(scene.path('.config'), { recursive: true })
    await scene.init([host])
    const { code, stdout } = await scene.init([host, '--undo'])
    expect(code).toBe(0)
    expect(stdout.split('\n')[0]).toBe(`${scene.path(file)} (removed)`)
    expect(stdout).toMatch(/\nDone: \w+ no longer loads hookspan\.\n$/)
    expect(scene.names()).toEqual(['.config'])
    const again = await scene.init([host, '--undo'])
    expect(again).toMatchObject({ code: 0, stderr: '' })
    expect(again.stdout).toMatch(/^Nothing to do: \w+ does not load hookspan from there /)
  })

  test('writes nothing with --print', async () => {
    const { code, stdout, stderr } = await scene.init([host, '--print'])
    expect(code).toBe(0)
    expect(stdout).toBe(content(host))
    expect(stderr).toBe(`${scene.path(file)}: the whole content of that file\n`)
    expect(scene.names()).toEqual([])
  })

  test('removes nothing with --undo --print', async () => {
    await scene.init([host])
    const names = scene.names()
    const { code, stdout } = await scene.init([host, '--undo', '--print'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/ \(removed\)\n- .*\n- .*\n$/)
    expect(scene.names()).toEqual(names)
  })

  test('prints one object with --json', async () => {
    const first = { host, file: scene.path(file), changed: true, backup: null }
    const json = async (...args: string[]) => JSON.parse((await scene.init([host, '--json', ...args])).stdout)
    expect(await json('--print')).toEqual({ ...first, changed: false, content: content(host) })
    expect(await json()).toEqual(first)
    expect(await json()).toEqual({ ...first, changed: false })
    expect(await json('--undo', '--print')).toEqual({ ...first, changed: false })
    expect(await json('--undo')).toEqual(first)
    expect(await json('--undo')).toEqual({ ...first, changed: false })
  })

  test('follows a hookspan that has moved', async () => {
    const folder = scene.install('elsewhere/hookspan')
    await scene.init([host], { folder })
    const { code, stdout } = await scene.init([host])
    expect(code).toBe(0)
    expect(stdout).toContain(`\n- export { `)
    expect(scene.read(file)).toBe(content(host))
    expect(scene.names().filter(name => name.includes('hookspan.js'))).toEqual([file])
  })

  test('removes the file of another copy', async () => {
    await scene.init([host], { folder: scene.install('gone/hookspan') })
    expect((await scene.init([host, '--undo'])).code).toBe(0)
    expect(existsSync(scene.path(file))).toBe(false)
  })

  test('does not touch a file of that name that is not ours', async () => {
    const own = `${content(host)}console.log('mine')\n`
    scene.put(file, own.replace(scene.folder, '/old'))
    for (const args of [[host], [host, '--undo']]) {
      const { code, stdout, stderr } = await scene.init(args)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^hookspan init: .*hookspan\.js was not written by hookspan and is left unchanged.*\n$/)
    }
    expect(scene.read(file)).toBe(own.replace(scene.folder, '/old'))
    scene.put(file, own)
    expect((await scene.init([host])).stdout).toMatch(/^Nothing to do: a file of your own loads hookspan already /)
  })

  test('writes through a symbolic link, and removes it', async () => {
    const target = scene.put('dotfiles/hookspan.js', content(host, '/old'), 0o640)
    mkdirSync(dirname(scene.path(file)), { recursive: true })
    symlinkSync(target, scene.path(file))
    expect((await scene.init([host])).code).toBe(0)
    expect(readlinkSync(scene.path(file))).toBe(target)
    expect(scene.read('dotfiles/hookspan.js')).toBe(content(host))
    expect(scene.mode('dotfiles/hookspan.js')).toBe('640')
    await scene.init([host, '--undo'])
    expect(lstatSync(scene.path(file), { throwIfNoEntry: false })).toBeUndefined()
    expect(existsSync(target)).toBe(false)
  })

  test('reports in one line that it could not write', async () => {
    scene.put(file.split('/')[0] as string, 'a file, where a folder has to be')
    const { code, stderr } = await scene.init([host])
    expect(code).toBe(1)
    expect(stderr).toBe(`hookspan init: cannot read ${scene.path(file)}: a part of the path is not a directory\n`)
  })

  test('quotes a path that is no plain one', async () => {
    const folder = scene.install("it's 100%/hookspan")
    await scene.init([host], { folder })
    expect(scene.read(file)).toContain(`from 'file:///`)
    expect(scene.read(file)).toContain(`/it%27s%20100%25/hookspan/dist/agents/${moduleOf(host)}/index.js'\n`)
    expect((await scene.init([host, '--undo'], { folder })).code).toBe(0)
    expect(existsSync(scene.path(file))).toBe(false)
  })
})

describe("the host's folder", () => {
  test('is that of PI_CODING_AGENT_DIR for Pi', async () => {
    await scene.init(['pi'], { env: { PI_CODING_AGENT_DIR: '~/my/pi' } })
    expect(scene.names()).toContain('my/pi/extensions/hookspan.js')
    await scene.init(['pi', '--undo'], { env: { PI_CODING_AGENT_DIR: scene.path('my/pi') } })
    expect(scene.names()).toEqual([])
  })

  test("is that of XDG_CONFIG_HOME for opencode, or the folder's older name", async () => {
    const env = { XDG_CONFIG_HOME: scene.path('xdg') }
    scene.put('xdg/opencode/plugin/hookspan.js', content('opencode'))
    expect((await scene.init(['opencode'], { env })).stdout).toContain('Nothing to do')
    await scene.init(['opencode', '--undo'], { env })
    expect(scene.names()).toEqual(['xdg', 'xdg/opencode', 'xdg/opencode/plugin'])
    await scene.init(['opencode'], { env })
    expect(scene.names()).toContain('xdg/opencode/plugins/hookspan.js')
  })

  test('keeps the mode of an existing folder', async () => {
    mkdirSync(scene.path('.pi/agent'), { recursive: true })
    chmodSync(scene.path('.pi/agent'), 0o750)
    await scene.init(['pi'])
    expect([scene.mode('.pi/agent'), scene.mode('.pi/agent/extensions')]).toEqual(['750', '700'])
  })
})
