import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { afterwards } from '../support/afterwards.ts'
import { InitScene } from './init-scene.ts'

const FILE = '.claude/settings.json'
const BACKUP = `${FILE}.hookspan-backup`
const STATE = '.local/state/hookspan/receiver'
const TOKEN = 'ab'.repeat(32)

let scene: InitScene
beforeEach(() => {
  scene = new InitScene()
})
afterEach(() => scene.remove())

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
const settings = () => JSON.parse(scene.read(FILE))
const hooksOf = (event: string): object[] =>
  settings().hooks[event].flatMap((group: { hooks: object[] }) => group.hooks)

/** A receiver has run once, and listened at this port. */
function hasRun(port = 4711): void {
  scene.put(`${STATE}/token`, `${TOKEN}\n`)
  scene.put(`${STATE}/port`, `${port}\n`)
}

/** As a user of some time has it. */
const USED = {
  model: 'opus',
  permissions: { allow: ['Bash(npm test:*)'] },
  hooks: {
    PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: './check.sh' }] }],
    Notification: [{ hooks: [{ type: 'command', command: 'beep' }] }],
  },
}

describe('hookspan init claude-code', () => {
  test('has all hooks sent to the receiver, with its token, and those that may find none by a program', async () => {
    hasRun()
    const { code, stderr } = await scene.init(['claude-code'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const http = {
      type: 'http',
      url: 'http://127.0.0.1:4711/claude-code',
      headers: { 'x-hookspan-token': TOKEN },
      timeout: 1,
    }
    const args = [join(scene.folder, 'dist', 'hook.cjs'), 'claude-code']
    const program = { type: 'command', command: process.execPath, args, timeout: 5 }
    expect(hooksOf('PreToolUse')).toEqual([http])
    const script = expect.stringContaining('kill -0')
    const shell = ['-c', script, 'sh', scene.path(`${STATE}/pid`), process.execPath, ...args]
    expect(hooksOf('Stop')).toEqual([http, { ...program, command: 'sh', args: shell, async: true }])
    expect(hooksOf('PostToolBatch')).toEqual(hooksOf('Stop'))
    expect(hooksOf('SessionEnd')).toEqual([program])
    expect(hooksOf('SessionStart')).toEqual([{ ...program, args: [...args, '--up'] }])
    expect(hooksOf('UserPromptSubmit')).toEqual([http, { ...program, async: true }])
    expect(Object.keys(settings().hooks)).toHaveLength(16)
  })

  test('makes the token and the port of a receiver that has never run', async () => {
    const { stdout } = await scene.init(['claude-code'])
    const [token, port] = [scene.read(`${STATE}/token`).trim(), scene.read(`${STATE}/port`).trim()]
    expect(token).toMatch(/^[0-9a-f]{64}$/)
    expect([scene.mode(STATE), scene.mode(`${STATE}/token`)]).toEqual(['700', '600'])
    expect(hooksOf('PreToolUse')).toMatchObject([
      { url: `http://127.0.0.1:${port}/claude-code`, headers: { 'x-hookspan-token': token } },
    ])
    expect(stdout).toContain(`The receiver listens at 127.0.0.1:${port}.`)
  })

  test('avoids a port that is in use', async () => {
    const server = createServer()
    await new Promise<void>(resolve => {
      // Where somebody else has it, that does as well.
      server.once('error', () => resolve()).listen(27_640, '127.0.0.1', resolve)
    })
    afterwards(() => server.close())
    await scene.init(['claude-code'])
    expect(scene.read(`${STATE}/port`)).not.toBe('27640\n')
  })

  test('shows its changes, but not the token', async () => {
    hasRun()
    const { stdout } = await scene.init(['claude-code'])
    expect(stdout).toContain('+               "x-hookspan-token": "***"\n')
    expect(stdout).not.toContain(TOKEN)
  })

  test('changes nothing at all in a dry run', async () => {
    const { stdout } = await scene.init(['claude-code', '--dry-run'])
    expect(stdout).toContain('x-hookspan-token')
    expect(scene.names()).toEqual([])
  })

  test('keeps other hooks, and a backup', async () => {
    hasRun()
    scene.put(FILE, json(USED), 0o644)
    await scene.init(['claude-code'])
    expect(settings()).toMatchObject({ model: 'opus', permissions: USED.permissions })
    expect(settings().hooks.PreToolUse[0]).toEqual(USED.hooks.PreToolUse[0])
    expect(settings().hooks.Notification).toEqual(USED.hooks.Notification)
    expect(hooksOf('PreToolUse')).toHaveLength(2)
    expect(scene.read(BACKUP)).toBe(json(USED))
  })

  test('makes a file with the token readable for its user alone', async () => {
    hasRun()
    scene.put(FILE, json(USED), 0o644)
    const { stdout } = await scene.init(['claude-code'])
    expect(scene.mode(FILE)).toBe('600')
    expect(stdout).toContain('only your user can read it now')
  })

  test.each([
    ['if the file is unchanged', ''],
    ['if the file has changed', '\n'],
  ])('restores the mode %s', async (_, more) => {
    hasRun()
    scene.put(FILE, json(USED), 0o644)
    await scene.init(['claude-code'])
    scene.put(FILE, scene.read(FILE) + more)
    await scene.init(['claude-code', '--undo'])
    expect([scene.read(FILE), scene.mode(FILE)]).toEqual([json(USED) + more, '644'])
  })

  test('has nothing to do the second time', async () => {
    hasRun()
    await scene.init(['claude-code'])
    const before = scene.read(FILE)
    expect((await scene.init(['claude-code'])).stdout).toMatch(
      /^Nothing to do: Claude Code sends its hooks to hookspan already/,
    )
    expect(scene.read(FILE)).toBe(before)
  })

  test('replaces another port, another token or another copy of hookspan', async () => {
    hasRun()
    scene.put(FILE, json(USED))
    await scene.init(['claude-code'])
    hasRun(4712)
    const folder = scene.install('elsewhere/hookspan')
    await scene.init(['claude-code'], { folder })
    expect(hooksOf('PreToolUse')).toMatchObject([{ command: './check.sh' }, { url: expect.stringContaining(':4712/') }])
    expect(hooksOf('SessionStart')).toMatchObject([{ args: [join(folder, 'dist', 'hook.cjs'), 'claude-code', '--up'] }])
  })

  test('removes its own hooks, and no other', async () => {
    hasRun()
    scene.put(FILE, json(USED))
    await scene.init(['claude-code'])
    const changed = { ...settings(), model: 'sonnet' }
    scene.put(FILE, json(changed))
    const { code } = await scene.init(['claude-code', '--undo'])
    expect(code).toBe(0)
    expect(settings()).toEqual({ ...USED, model: 'sonnet' })
  })

  test('keeps a hook beside ours', async () => {
    hasRun()
    await scene.init(['claude-code'])
    const mine = { type: 'command', command: 'mine' }
    const changed = settings()
    changed.hooks.Stop[0].hooks.push(mine)
    scene.put(FILE, json(changed))
    await scene.init(['claude-code', '--undo'])
    expect(settings()).toEqual({ hooks: { Stop: [{ hooks: [mine] }] } })
  })

  test.each([
    ['as it was', json(USED)],
    ['tabs', `${JSON.stringify(USED, null, '\t')}\n`],
    ['one line', JSON.stringify(USED)],
  ])('restores the file byte by byte when undone: %s', async (_, text) => {
    hasRun()
    scene.put(FILE, text)
    await scene.init(['claude-code'])
    await scene.init(['claude-code', '--undo'])
    expect(scene.read(FILE)).toBe(text)
  })

  test('removes a file of ours alone', async () => {
    hasRun()
    await scene.init(['claude-code'])
    await scene.init(['claude-code', '--undo'])
    expect(scene.names()).not.toContain(FILE)
  })

  test('does nothing when there is nothing to undo', async () => {
    expect((await scene.init(['claude-code', '--undo'])).stdout).toMatch(/^Nothing to do/)
    expect(scene.names()).toEqual([])
  })

  test.each([
    ['disableAllHooks', { disableAllHooks: true }, 'disableAllHooks is true there'],
    ['other addresses', { allowedHttpHookUrls: ['https://*.example/*'] }, 'allowedHttpHookUrls there does not allow'],
    ['no object', { hooks: [] }, 'hooks there is no object'],
    ['no list', { hooks: { Stop: {} } }, 'hooks.Stop there is no list'],
  ])('leaves invalid or forbidding settings as they are: %s', async (_, value, message) => {
    hasRun()
    scene.put(FILE, json(value))
    const { code, stderr } = await scene.init(['claude-code'])
    expect(code).toBe(1)
    expect(stderr).toContain(message)
    expect(scene.read(FILE)).toBe(json(value))
  })

  test('adds ours to settings that allow addresses of this machine', async () => {
    hasRun()
    scene.put(FILE, json({ allowedHttpHookUrls: ['http://127.0.0.1:*'] }))
    expect((await scene.init(['claude-code'])).code).toBe(0)
  })

  test('finds the settings by CLAUDE_CONFIG_DIR', async () => {
    hasRun()
    await scene.init(['claude-code'], { env: { CLAUDE_CONFIG_DIR: scene.path('mine') } })
    expect(scene.names()).toContain('mine/settings.json')
  })

  test('keeps the comments of settings, and restores them to the byte', async () => {
    hasRun()
    const text = '{\n  // mine\n  "model": "opus"\n}\n'
    scene.put(FILE, text)
    expect((await scene.init(['claude-code'])).code).toBe(0)
    expect(scene.read(FILE).startsWith('{\n  // mine\n  "model": "opus",\n  "hooks": {\n')).toBe(true)
    expect((await scene.init(['claude-code', '--undo'])).code).toBe(0)
    expect(scene.read(FILE)).toBe(text)
  })

  test('prints the settings', async () => {
    hasRun()
    const { stdout, stderr } = await scene.init(['claude-code', '--print'])
    expect(Object.keys(JSON.parse(stdout).hooks)).toContain('PostToolBatch')
    expect(stderr).toContain('to be merged into that file')
    expect(scene.names()).not.toContain(FILE)
  })
})
