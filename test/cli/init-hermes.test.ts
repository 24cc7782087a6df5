import { lstatSync, mkdirSync, readlinkSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { HOOK_NAMES } from '../../src/contract/index.ts'
import { InitScene } from './init-scene.ts'

const FILE = '.hermes/config.yaml'
const LINK = '.hermes/plugins/hookspan'
const GATEWAY = '.hermes/hooks/hookspan'
const BACKUP = `${FILE}.hookspan-backup`
const TOKEN = '0f'.repeat(32)
const SECRET = '.local/state/hookspan/receiver/hermes-secret'
const URL_OF_RECEIVER = `http://127.0.0.1:4123/t/${TOKEN}/hermes`

/** As a user of some time has it. */
const USED = `# mine
model:
  default: fake-1   # the small one
  api_key: geheim-1
plugins:
  enabled:
    - voice   # nice
security: {tirith_enabled: false}
`

let scene: InitScene
beforeEach(() => {
  scene = new InitScene()
})
afterEach(() => scene.remove())

const linked = (): string => readlinkSync(scene.path(LINK))
const isLinked = (): boolean =>
  [LINK, GATEWAY].some(link => lstatSync(scene.path(link), { throwIfNoEntry: false }) !== undefined)
const shim = (folder: string = scene.folder): string => join(folder, 'integrations', 'hermes')

/** What a receiver leaves that has run once. */
function hasRun(): void {
  scene.put('.local/state/hookspan/receiver/token', `${TOKEN}\n`)
  scene.put('.local/state/hookspan/receiver/port', '4123\n')
}

describe('hookspan init hermes', () => {
  test('adds one line to the configuration and links to the plugin, and keeps the rest', async () => {
    scene.put(FILE, USED)
    const { code, stdout, stderr } = await scene.init(['hermes'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(scene.read(FILE)).toBe(USED.replace('# nice\n', '# nice\n    - hookspan\n'))
    expect(scene.read(BACKUP)).toBe(USED)
    expect(linked()).toBe(shim())
    expect(readlinkSync(scene.path(GATEWAY))).toBe(join(shim(), 'gateway'))
    expect(stdout).toContain('+     - hookspan\n')
    expect(stdout).toContain(`${scene.path(LINK)} -> ${shim()}\n`)
    expect(stdout).not.toContain('geheim')
  })

  test('has nothing to do the second time', async () => {
    scene.put(FILE, USED)
    await scene.init(['hermes'])
    const { code, stdout } = await scene.init(['hermes'])
    expect(code).toBe(0)
    expect(stdout).toBe(`Nothing to do: Hermes loads hookspan already (${scene.path(FILE)}).\n`)
  })

  test('removes it again, byte by byte', async () => {
    scene.put(FILE, USED)
    await scene.init(['hermes'])
    const { stdout } = await scene.init(['hermes', '--undo'])
    expect(stdout).toContain('byte by byte')
    expect(scene.read(FILE)).toBe(USED)
    expect(scene.names()).toEqual(['.hermes', FILE])
    expect((await scene.init(['hermes', '--undo'])).stdout).toContain('Nothing to do: Hermes does not load hookspan')
  })

  test('removes its own line alone when something else has changed since', async () => {
    scene.put(FILE, USED)
    await scene.init(['hermes'])
    scene.put(FILE, `${scene.read(FILE)}later: 1\n`)
    await scene.init(['hermes', '--undo'])
    expect(scene.read(FILE)).toBe(`${USED}later: 1\n`)
    expect(isLinked()).toBe(false)
  })

  test('writes a missing configuration, and removes it again', async () => {
    await scene.init(['hermes'])
    expect(parse(scene.read(FILE))).toEqual({ plugins: { enabled: ['hookspan'] } })
    await scene.init(['hermes', '--undo'])
    expect(scene.names()).toEqual([])
  })

  test('writes where Hermes has its home', async () => {
    const env = { HERMES_HOME: scene.path('elsewhere') }
    await scene.init(['hermes'], { env })
    expect(parse(scene.read('elsewhere/config.yaml'))).toEqual({ plugins: { enabled: ['hookspan'] } })
    expect(readlinkSync(scene.path('elsewhere/plugins/hookspan'))).toBe(shim())
  })

  test('leads to the newer copy when another one was there', async () => {
    scene.put(FILE, USED)
    await scene.init(['hermes'])
    const folder = scene.install('other/hookspan')
    const before = scene.read(FILE)
    const { stdout } = await scene.init(['hermes'], { folder })
    expect(linked()).toBe(shim(folder))
    expect(scene.read(FILE)).toBe(before)
    expect(stdout.startsWith(`${scene.path(LINK)} -> ${shim(folder)}\n`)).toBe(true)
  })

  test("leaves a user's copy of the plugin, and any other file", async () => {
    scene.put(FILE, USED)
    scene.put(`${GATEWAY}/HOOK.yaml`, 'name: hookspan\n')
    scene.put(`${LINK}/plugin.yaml`, 'name: hookspan\n')
    expect((await scene.init(['hermes'])).code).toBe(0)
    expect(lstatSync(scene.path(LINK)).isDirectory()).toBe(true)
    scene.put(`${LINK}/plugin.yaml`, 'name: something-else\n')
    const { code, stderr } = await scene.init(['hermes'])
    expect(code).toBe(1)
    expect(stderr).toContain(`${scene.path(LINK)} is not what hookspan put there; it stays as it is`)
  })

  test('enables a disabled plugin', async () => {
    scene.put(FILE, 'plugins:\n  disabled: [hookspan, other]\n')
    await scene.init(['hermes'])
    expect(parse(scene.read(FILE))).toEqual({ plugins: { disabled: ['other'], enabled: ['hookspan'] } })
  })

  test('shows its changes, and makes none', async () => {
    scene.put(FILE, USED)
    const { stdout, stderr } = await scene.init(['hermes', '--dry-run'])
    expect(stdout).toContain('+     - hookspan\n')
    expect(stderr).toBe('Nothing has been written.\n')
    expect(scene.read(FILE)).toBe(USED)
    expect(isLinked()).toBe(false)
    const printed = await scene.init(['hermes', '--print'])
    expect(printed.stdout).toBe('plugins:\n  enabled:\n    - hookspan\n')
    expect(printed.stderr).toContain(`${scene.path(LINK)} has to be a link to ${shim()}`)
  })

  test('leaves to the user what it cannot change', async () => {
    scene.put(FILE, 'list: &some [a]\nplugins:\n  enabled: *some\n')
    const { code, stdout, stderr } = await scene.init(['hermes'])
    expect(code).toBe(1)
    expect(stderr).toBe(
      `hookspan init: ${scene.path(FILE)} stays as it is: enabled is an alias; please change it by hand\n`,
    )
    expect(stdout).toBe(`${scene.path(FILE)}: under plugins.enabled, add: hookspan\n`)
    expect(isLinked()).toBe(false)
    scene.put(FILE, 'plugins:\n  enabled: *none\n')
    expect((await scene.init(['hermes'])).stderr).toMatch(/config\.yaml stays as it is: Unresolved alias /)
  })

  test('follows no link in the place of the configuration but to the file that it leads to', async () => {
    scene.put('dotfiles/hermes.yaml', USED)
    mkdirSync(scene.path('.hermes'))
    symlinkSync(scene.path('dotfiles/hermes.yaml'), scene.path(FILE))
    await scene.init(['hermes'])
    expect(lstatSync(scene.path(FILE)).isSymbolicLink()).toBe(true)
    expect(scene.read('dotfiles/hermes.yaml')).toContain('- hookspan')
  })
})

describe('hookspan init hermes --webhook', () => {
  test('writes the address of the receiver and all hooks, and shows no token', async () => {
    hasRun()
    scene.put(FILE, USED)
    const { code, stdout } = await scene.init(['hermes', '--webhook'])
    expect(code).toBe(0)
    const secret = scene.read(SECRET).trim()
    const foreign = ['on_iteration_start', 'on_turn_event', 'pre_control_hook', 'post_control_hook']
    const events = HOOK_NAMES.filter(name => !foreign.includes(name))
    const outbound = [{ name: 'hookspan', url: URL_OF_RECEIVER, events, timeout: 2, secret }]
    expect(parse(scene.read(FILE))).toEqual({ ...(parse(USED) as object), hooks: { outbound } })
    expect(stdout).toContain('http://127.0.0.1:4123/t/***/hermes')
    expect(stdout).toContain('secret: ***\n')
    for (const hidden of [TOKEN, secret, 'geheim']) expect(stdout).not.toContain(hidden)
    expect((await scene.init(['hermes', '--webhook'])).stdout).toContain('Nothing to do')
    await scene.init(['hermes', '--undo'])
    expect(scene.read(FILE)).toBe(USED)
  })

  test('makes Hermes sign with a secret of its own, in private files, until it is removed', async () => {
    hasRun()
    scene.put(FILE, 'hooks: {outbound: [{name: mine, url: "http://localhost/x"}]}\n', 0o644)
    const { stdout } = await scene.init(['hermes', '--webhook'])
    const secret = scene.read(SECRET).trim()
    expect(secret).toMatch(/^[0-9a-f]{64}$/)
    expect([scene.mode(SECRET), scene.mode(FILE)]).toEqual(['600', '600'])
    expect(parse(scene.read(FILE))).toMatchObject({ hooks: { outbound: [{ name: 'mine' }, { secret }] } })
    expect(stdout).toContain('"secret": "***"')
    expect(stdout).not.toContain(secret)
    const undone = await scene.init(['hermes', '--undo'])
    expect(undone.stdout).toContain(`${scene.path(SECRET)} (removed)\n`)
    expect(undone.stdout).not.toContain(secret)
    expect(scene.names()).not.toContain(SECRET)
    expect(scene.read(FILE)).toBe('hooks: {outbound: [{name: mine, url: "http://localhost/x"}]}\n')
  })

  test('uses the existing secret, and writes none in a dry run', async () => {
    hasRun()
    const printed = await scene.init(['hermes', '--webhook', '--print'])
    expect(parse(printed.stdout)).toMatchObject({ hooks: { outbound: [{ secret: '<secret>' }] } })
    await scene.init(['hermes', '--webhook', '--dry-run'])
    expect(scene.names()).not.toContain(SECRET)
    scene.put(SECRET, 'agreed: "upon"\n')
    await scene.init(['hermes', '--webhook'])
    expect(parse(scene.read(FILE))).toMatchObject({ hooks: { outbound: [{ secret: 'agreed: "upon"' }] } })
    expect(scene.read(SECRET)).toBe('agreed: "upon"\n')
    await scene.init(['hermes'])
    expect(scene.names()).not.toContain(SECRET)
  })

  test('reports a secret that cannot be read, and writes nothing to the plugin', async () => {
    hasRun()
    symlinkSync('/etc/hostname', scene.path(SECRET))
    const { code, stderr } = await scene.init(['hermes', '--webhook'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('hermes-secret: it is a symbolic link'),
    })
    expect((await scene.init(['hermes'])).code).toBe(0)
    expect((await scene.init(['hermes', '--undo'])).code).toBe(0)
  })

  test('replaces the plugin, and the plugin the webhook: with both, each hook would be reported twice', async () => {
    hasRun()
    scene.put(FILE, USED)
    await scene.init(['hermes'])
    await scene.init(['hermes', '--webhook'])
    expect(parse(scene.read(FILE))).toMatchObject({ plugins: { enabled: ['voice'] }, hooks: { outbound: [{}] } })
    expect(isLinked()).toBe(false)
    await scene.init(['hermes'])
    expect(parse(scene.read(FILE))).toMatchObject({
      plugins: { enabled: ['voice', 'hookspan'] },
      hooks: { outbound: [] },
    })
    expect(isLinked()).toBe(true)
  })

  test('writes a new address when the receiver has one', async () => {
    hasRun()
    scene.put(FILE, `hooks:\n  outbound:\n    - name: mine\n      url: http://localhost/x\n`)
    await scene.init(['hermes', '--webhook'])
    scene.put('.local/state/hookspan/receiver/port', '4999\n')
    await scene.init(['hermes', '--webhook'])
    const { hooks } = parse(scene.read(FILE)) as { hooks: { outbound: { url: string }[] } }
    expect(hooks.outbound.map(({ url }) => url)).toEqual([
      'http://localhost/x',
      URL_OF_RECEIVER.replace('4123', '4999'),
    ])
  })

  test('requires a receiver that has run', async () => {
    const { code, stderr } = await scene.init(['hermes', '--webhook'])
    expect(code).toBe(1)
    expect(stderr).toContain('npx hookspan serve --detach')
    expect(scene.names()).toEqual([])
  })

  test('is for Hermes', async () => {
    const { code, stderr } = await scene.init(['pi', '--webhook'])
    expect(code).toBe(2)
    expect(stderr).toContain('--webhook is for hermes')
  })
})

describe('hookspan init hermes --guards', () => {
  const GUARDS = '.hermes/hookspan-guards'

  test("writes the plugin's mode without a receiver beside the configuration", async () => {
    scene.put(FILE, USED)
    const { code, stdout } = await scene.init(['hermes', '--guards', 'closed'])
    expect({ code, said: scene.read(GUARDS), mode: scene.mode(GUARDS) }).toEqual({
      code: 0,
      said: 'closed\n',
      mode: '600',
    })
    expect(stdout).toContain('it blocks tools and prompts')
    expect((await scene.init(['hermes'])).stdout).toMatch(/^Nothing to do: /)
    expect((await scene.init(['hermes', '--guards', 'closed'])).stdout).toMatch(/^Nothing to do: /)
    expect((await scene.init(['hermes', '--guards', 'open'])).stdout).toContain('it continues.')
    expect(scene.read(GUARDS)).toBe('open\n')
    await scene.init(['hermes', '--guards', 'off'])
    expect(scene.names()).not.toContain(GUARDS)
    expect(isLinked()).toBe(true)
  })

  test('removes that again with all else', async () => {
    scene.put(FILE, USED)
    await scene.init(['hermes', '--guards', 'open'])
    expect((await scene.init(['hermes', '--undo'])).stdout).toContain('byte by byte')
    expect([scene.read(FILE), scene.names().includes(GUARDS)]).toEqual([USED, false])
  })

  test("is for the plugin: Hermes does not wait for a webhook's answer", async () => {
    const { code, stderr } = await scene.init(['hermes', '--webhook', '--guards', 'open'])
    expect(code).toBe(2)
    expect(stderr).toContain('--guards needs the plugin')
  })
})
