import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { InitScene } from './init-scene.ts'

const STATE = '.local/state/hookspan/receiver'
const TOKEN = 'ab'.repeat(32)
const GEMINI = '.gemini/settings.json'
const QWEN = '.qwen/settings.json'

let scene: InitScene
beforeEach(() => {
  scene = new InitScene()
})
afterEach(() => scene.remove())

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
const hooksOf = (file: string): Record<string, readonly { readonly hooks: readonly object[] }[]> =>
  JSON.parse(scene.read(file)).hooks

/** A receiver has run once, and listened at this port. */
function hasRun(port = 4711): void {
  scene.put(`${STATE}/token`, `${TOKEN}\n`)
  scene.put(`${STATE}/port`, `${port}\n`)
}

/** As a user of some time has it. */
const USED = {
  theme: 'dark',
  hooks: {
    PreToolUse: [{ matcher: 'write_file', hooks: [{ type: 'command', command: './check.sh' }] }],
    BeforeTool: [{ matcher: 'write_file', hooks: [{ type: 'command', command: './check.sh' }] }],
  },
}

function commandOf(agent: string): string {
  return `/bin/sh ${join(scene.folder, 'dist', 'hook.sh')} ${process.execPath} ${agent}`
}

describe('hookspan init gemini', () => {
  test('runs a program for each useful hook, and none for each chunk of an answer', async () => {
    const { code, stderr } = await scene.init(['gemini'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const hook = { type: 'command', name: 'hookspan', command: commandOf('gemini'), timeout: 5000 }
    const events = [
      'SessionStart',
      'BeforeAgent',
      'BeforeTool',
      'AfterTool',
      'Notification',
      'AfterAgent',
      'SessionEnd',
    ]
    expect(hooksOf(GEMINI)).toEqual({
      ...Object.fromEntries(events.map(event => [event, [{ hooks: [hook] }]])),
      SessionStart: [{ hooks: [{ ...hook, command: `${hook.command} --up` }] }],
    })
  })

  test('needs no receiver: the program starts one', async () => {
    await scene.init(['gemini'])
    expect(scene.names().filter(name => name.startsWith('.local'))).toEqual([])
  })

  test('quotes a folder with blanks and quotes in its name as one word of the command', async () => {
    const folder = scene.install("it's a/node_modules/hookspan")
    await scene.init(['gemini'], { folder })
    const [group] = hooksOf(GEMINI)['AfterAgent'] ?? []
    const path = join(folder, 'dist', 'hook.sh').replace("'", String.raw`'\''`)
    expect(group?.hooks).toMatchObject([{ command: `/bin/sh '${path}' ${process.execPath} gemini` }])
    expect((await scene.init(['gemini'], { folder })).stdout).toContain(
      'Gemini CLI sends its hooks to hookspan already',
    )
  })

  test('treats GEMINI_CLI_HOME as a home', async () => {
    await scene.init(['gemini'], { env: { GEMINI_CLI_HOME: scene.path('other') } })
    expect(Object.keys(hooksOf('other/.gemini/settings.json'))).toHaveLength(7)
  })

  test('reports that Gemini CLI runs no hooks', async () => {
    scene.put(GEMINI, json({ hooksConfig: { enabled: false } }))
    expect((await scene.init(['gemini'])).stderr).toContain('hooksConfig.enabled is false there')
  })
})

describe('hookspan init qwen', () => {
  test('has all hooks sent to the receiver, with its token, and those that may find none by a program', async () => {
    hasRun()
    const { code, stdout } = await scene.init(['qwen'])
    expect(code).toBe(0)
    expect(stdout).not.toContain(TOKEN)
    const headers = { 'x-hookspan-token': TOKEN }
    const http = { type: 'http', name: 'hookspan', url: 'http://127.0.0.1:4711/qwen', headers, timeout: 1 }
    const program = { type: 'command', name: 'hookspan-program', command: commandOf('qwen'), timeout: 5 }
    const hooks = hooksOf(QWEN)
    expect(hooks['PreToolUse']).toEqual([{ hooks: [http] }])
    expect(hooks['SessionStart']).toEqual([{ hooks: [{ ...program, command: `${program.command} --up` }] }])
    const shell = expect.stringMatching(/^sh -c '.*kill -0.*' sh \S+receiver\/pid \/bin\/sh \S+hook\.sh \S+ qwen$/)
    expect(hooks['Stop']).toEqual([{ hooks: [http, { ...program, command: shell }] }])
    expect(hooks['PostToolBatch']).toEqual(hooks['Stop'])
    expect(hooks['SessionEnd']).toEqual([{ hooks: [program] }])
    expect(hooks['UserPromptSubmit']).toEqual(hooks['Stop'])
    expect(Object.keys(hooks)).toHaveLength(15)
    expect(scene.mode(QWEN)).toBe('600')
  })

  test('reports that Qwen Code runs no hooks, or sends none there', async () => {
    hasRun()
    scene.put(QWEN, json({ disableAllHooks: true }))
    expect((await scene.init(['qwen'])).stderr).toContain('disableAllHooks is true there')
    scene.put(QWEN, json({ security: { allowedHttpHookUrls: ['https://example.com/*'] } }))
    expect((await scene.init(['qwen'])).stderr).toContain('security.allowedHttpHookUrls there does not allow')
    scene.put(QWEN, json({ security: { allowedHttpHookUrls: [] } }))
    expect((await scene.init(['qwen'])).code).toBe(0)
  })
})

describe.each([
  ['gemini', GEMINI],
  ['qwen', QWEN],
])('hookspan init %s', (agent, file) => {
  test('leaves foreign entries, and has nothing to do the second time', async () => {
    hasRun()
    scene.put(file, json(USED))
    await scene.init([agent])
    expect(JSON.parse(scene.read(file))).toMatchObject({ theme: 'dark' })
    const both = { ...hooksOf(file)['PreToolUse'], ...hooksOf(file)['BeforeTool'] }
    expect(both[0]).toEqual(USED.hooks.BeforeTool[0])
    const once = scene.read(file)
    expect((await scene.init([agent])).stdout).toContain('sends its hooks to hookspan already')
    expect(scene.read(file)).toBe(once)
  })

  test('restores the file byte by byte with --undo, or removes it', async () => {
    hasRun()
    const before = `{ "theme":"dark",\n\n    "hooks": {} }\n`
    scene.put(file, before)
    await scene.init([agent])
    await scene.init([agent, '--undo'])
    expect(scene.read(file)).toBe(before)
    scene.put(file, '{}\n')
    await scene.init([agent])
    const later = scene.read(file).replace('{\n', '{\n  "later": true,\n')
    scene.put(file, later)
    await scene.init([agent, '--undo'])
    expect(JSON.parse(scene.read(file))).toEqual({ later: true })
  })

  test('replaces another hookspan', async () => {
    hasRun()
    await scene.init([agent])
    const folder = scene.install('other/node_modules/hookspan')
    await scene.init([agent], { folder })
    expect(scene.read(file)).toContain(join(folder, 'dist', 'hook.sh'))
    expect(scene.read(file)).not.toContain(join(scene.folder, 'dist', 'hook.sh'))
  })
})
