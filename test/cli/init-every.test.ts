import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { Server } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { InitScene } from './init-scene.ts'

let scene: InitScene
beforeEach(() => {
  scene = new InitScene()
})
afterEach(() => {
  vi.restoreAllMocks()
  scene.remove()
})

const CLAUDE = '{\n  "model": "opus"\n}\n'
const JSON5_TEXT = "// mine\n{ 'gateway': {} }\n"

/** Claude Code with settings, a program only, folders only, and the SDKs of a project. */
function several(): { env: Record<string, string>; project: string } {
  scene.put('.claude/settings.json', CLAUDE)
  for (const folder of ['.qwen', '.pi/agent']) mkdirSync(scene.path(folder), { recursive: true })
  scene.put('app/package.json', '{ "dependencies": { "ai": "7.0.0" } }')
  return { env: { PATH: scene.program('codex') }, project: scene.path('app/src') }
}

/** What agents read, and no state of ours. */
function names(): string[] {
  return scene.names().filter(name => !name.startsWith('.local'))
}

/** The lines of the list, without the paths. */
function listed(stdout: string): string[] {
  const [list = ''] = stdout.split('\n\n')
  return list
    .split('\n')
    .slice(1)
    .map(line => line.trim().replace(/ +~?\/\S+ +/, ': '))
    .filter(line => line !== '')
}

describe('hookspan init without a host', () => {
  test('sets up the found agents after one confirmation: a list, the changes, a question, the result', async () => {
    const start = several()
    const { code, stdout, stderr } = await scene.init([], { ...start, typed: 'y\n' })
    expect(code).toBe(0)
    expect(stderr).toBe('\nSet up pi, claude-code, codex and qwen? [y/N] ')
    expect(listed(stdout)).toEqual([
      'pi: would be set up',
      'claude-code: would be set up',
      'codex: would be set up',
      'qwen: would be set up',
      'ai-sdk: add lines to your program, see below',
    ])
    expect(stdout).toContain(`  codex        ${start.env['PATH']}/codex `)
    expect(stdout).toContain('  claude-code  ~/.claude ')
    expect(stdout).toContain('  ai-sdk       ~/app/package.json ')
    const heads = stdout.split('\n').filter(line => /^(pi|claude-code|codex|qwen|ai-sdk|Done: .*|Add .*)$/.test(line))
    expect(heads).toEqual([
      ...['pi', 'claude-code', 'codex', 'qwen', 'ai-sdk'],
      'Add these lines to your program (docs/agents/ai-sdk.md has details):',
      'Done: Pi will load hookspan.',
      'Done: Claude Code will load hookspan.',
      'Done: Codex will load hookspan.',
      'Done: Qwen Code will load hookspan.',
    ])
    expect(stdout).toMatch(/\nTo take it all out again: npx hookspan init --undo\n$/)
    expect(stdout).toContain('\nregisterTelemetry(createTelemetry())\n')
    for (const file of ['.pi/agent/extensions/hookspan.js', '.codex/hooks.json']) expect(names()).toContain(file)
  })

  test('gives all of them one receiver', async () => {
    await scene.init(['--yes'], several())
    const token = scene.read('.local/state/hookspan/receiver/token').trim()
    const port = scene.read('.local/state/hookspan/receiver/port').trim()
    for (const file of ['.claude/settings.json', '.qwen/settings.json']) {
      const text = scene.read(file)
      expect(new Set(text.match(/[0-9a-f]{64}/g))).toEqual(new Set([token]))
      expect(new Set(text.match(/(?<=127\.0\.0\.1:)\d+/g))).toEqual(new Set([port]))
    }
  })

  test.each(['n\n', '\n', 'yet\n', ''])('writes nothing after %j', async typed => {
    const start = several()
    const before = scene.names()
    const { code, stdout, stderr } = await scene.init([], { ...start, typed })
    expect(code).toBe(1)
    expect(stderr).toMatch(/\? \[y\/N\] \n?Nothing has been written\.\n$/)
    expect(stdout).not.toContain('Done')
    expect(scene.names()).toEqual(before)
  })

  test('shows all and changes nothing without a terminal', async () => {
    const start = several()
    const before = scene.names()
    const { code, stdout, stderr } = await scene.init([], start)
    expect(code).toBe(1)
    expect(stdout).toContain(`${scene.path('.codex/hooks.json')} (new)\n+`)
    expect(stderr).toBe('hookspan init: nothing has been written: no terminal for confirmation; use --yes\n')
    expect(scene.names()).toEqual(before)
  })

  test('asks nothing with --dry-run, and does with --yes as shown', async () => {
    const start = several()
    const before = scene.names()
    const dry = await scene.init(['-n'], { ...start, typed: 'y\n' })
    expect(dry).toMatchObject({ code: 0, stderr: 'Nothing has been written.\n' })
    expect(scene.names()).toEqual(before)
    const done = await scene.init(['-y'], start)
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout.startsWith(dry.stdout)).toBe(true)
  })

  test('agrees with all of them on one port, though a free one may be in use in the next moment', async () => {
    const listen = vi.spyOn(Server.prototype, 'listen')
    listen.mockImplementation(function (this: Server, ...of) {
      if (listen.mock.calls.length > 1) setImmediate(() => this.emit('error', new Error('busy')))
      else setImmediate(() => (of.at(-1) as () => void)())
      return this
    })
    const { code, stderr } = await scene.init(['--yes'], several())
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('reports each agent as set up at a second run, and asks nothing', async () => {
    const start = several()
    await scene.init(['--yes'], start)
    const { code, stdout, stderr } = await scene.init([], start)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(listed(stdout).slice(0, 4)).toEqual([
      'pi: already set up',
      'claude-code: already set up',
      'codex: already set up',
      'qwen: already set up',
    ])
    expect(stdout).not.toContain('[y/N]')
  })

  test('leaves alone an agent that it cannot change, and does the others', async () => {
    const start = several()
    scene.put('.gemini/settings.json', '{ "a": ')
    scene.put('.openclaw/openclaw.json', JSON5_TEXT)
    const { code, stdout, stderr } = await scene.init(['--yes'], start)
    expect(code).toBe(1)
    expect(listed(stdout)).toEqual(
      expect.arrayContaining(['openclaw: change it by hand, see below', 'gemini: cannot be changed, see below']),
    )
    const [comments, broken, ...rest] = stderr.split('\n')
    expect(comments).toBe(
      `hookspan init: openclaw: ${scene.path('.openclaw/openclaw.json')} stays as it is: it is JSON5, and hookspan edits only JSON with comments; please change it by hand`,
    )
    expect(broken).toMatch(/^hookspan init: gemini: \S+settings\.json, line 1\b.*; it stays as it is$/)
    expect(rest).toEqual(['hookspan init: not done: openclaw and gemini (see above)', ''])
    expect(scene.read('.openclaw/openclaw.json')).toBe(JSON5_TEXT)
    expect(scene.read('.gemini/settings.json')).toBe('{ "a": ')
    expect(stdout).toContain('Done: Claude Code')
    expect(stdout).toContain('Done: Qwen Code')
  })

  test('continues after a failure, which a second run repairs', async () => {
    await scene.init(['--yes'], several())
    // The receiver's place is gone, and Claude Code names another port than a new one would have.
    rmSync(scene.path('.local'), { recursive: true })
    rmSync(scene.path('.qwen/settings.json'))
    scene.put(
      '.claude/settings.json',
      scene.read('.claude/settings.json').replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:29999'),
    )
    rmSync(scene.path('.pi/agent/extensions/hookspan.js'))
    const first = await scene.init(['--yes'])
    expect(first.code).toBe(1)
    expect(first.stderr).toMatch(
      /^hookspan init: qwen: cannot change \S+: the receiver has another port or token by now; run this again\nhookspan init: not done: qwen \(see above\)\n$/,
    )
    expect(first.stdout).toContain('Done: Pi')
    expect((await scene.init(['--yes'])).code).toBe(0)
    expect(scene.read('.qwen/settings.json')).toContain('127.0.0.1:29999/qwen')
  })

  test('has colours in a terminal, and warns once in a temporary folder', async () => {
    const { stdout, stderr } = await scene.init(['-y'], { ...several(), columns: 80, isTemporary: true })
    expect(stdout).toContain('\u001b[32m+')
    expect(stderr).toMatch(/^hookspan init: \S+ is in a temporary folder: .*, an agent can no longer load hookspan\n$/)
  })

  test('keeps an agent that is set up in another way', async () => {
    scene.put('.hermes/config.yaml', 'model: x\n')
    await scene.init(['claude-code'])
    expect((await scene.init(['hermes', '--webhook'])).code).toBe(0)
    const webhook = scene.read('.hermes/config.yaml')
    expect(webhook).toContain('outbound')
    const { stdout } = await scene.init(['--yes'])
    expect(listed(stdout)).toContain('hermes: already set up')
    expect(scene.read('.hermes/config.yaml')).toBe(webhook)
  })

  test('lists the searched places if it finds none, and how to name one', async () => {
    const { code, stdout, stderr } = await scene.init([], { typed: 'y\n' })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(
      `hookspan init: found no agent: looked for their programs on PATH (openclaw, opencode, kilocode, claude, codex, cursor, cursor-agent, gemini, qwen), their folders in ${scene.home}, SDKs in package.json, pyproject.toml, requirements.txt of ${scene.home}; name yours, as in "hookspan init pi"; there are pi, openclaw, opencode, kilo, hermes, claude-code, codex, cursor, copilot, gemini, qwen, claude-agent-sdk, openai-agents, ai-sdk, locus\n`,
    )
    expect(scene.names()).toEqual([])
  })

  test.each([
    [{ home: '' }, 'there is no home directory'],
    [{ refusal: 'this hookspan runs from a cache of npx' }, 'this hookspan runs from a cache of npx'],
  ])('mentions once: %j', async (start, message) => {
    const { env } = several()
    const end = await scene.init(['--yes'], { env, ...start })
    expect(end).toEqual({ code: 1, stdout: '', stderr: `hookspan init: ${message}\n` })
  })

  test('prints a line for each with --json', async () => {
    const start = several()
    scene.put('.gemini/settings.json', '{ "a": ')
    scene.put('.openclaw/openclaw.json', JSON5_TEXT)
    const lines = async (...args: readonly string[]) => {
      const { stdout, stderr } = await scene.init(['--json', ...args], start)
      expect(stderr).toBe('')
      return stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as Record<string, unknown>)
    }
    const done = await lines('--yes')
    const keys = done.map(({ host, ...rest }) => [host, rest['changed'], Object.keys(rest).slice(3)])
    expect(keys).toEqual([
      ['pi', true, []],
      ['openclaw', false, ['todo']],
      ['claude-code', true, []],
      ['codex', true, []],
      ['gemini', false, ['error']],
      ['qwen', true, []],
      ['ai-sdk', false, ['content']],
    ])
    expect(done[2]).toMatchObject({
      file: scene.path('.claude/settings.json'),
      backup: scene.path('.claude/settings.json.hookspan-backup'),
    })
    expect((await lines('--dry-run')).map(({ changed }) => changed)).toEqual(done.map(() => false))
  })
})

describe('hookspan init --undo without a host', () => {
  test('reverts its changes byte by byte, also of an agent that was removed', async () => {
    const start = several()
    scene.put('.openclaw/openclaw.json', JSON5_TEXT)
    const before = names()
    await scene.init(['--yes'], start)
    const set = scene.names()
    expect(await scene.init(['--undo'], start)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no terminal'),
    })
    expect(scene.names()).toEqual(set)
    const { code, stdout, stderr } = await scene.init(['--undo'], { typed: 'yes\n' })
    expect(code).toBe(0)
    expect(stderr).toBe('\nRemove hookspan from pi, claude-code, codex and qwen? [y/N] ')
    expect(listed(stdout)).toEqual(
      ['pi', 'claude-code', 'codex', 'qwen'].map(name => `${name}: hookspan would be removed`),
    )
    expect(stdout).toMatch(/\nDone: Codex no longer loads hookspan\.\n/)
    expect(stdout).not.toContain('To take it')
    expect(scene.read('.claude/settings.json')).toBe(CLAUDE)
    expect(names()).toEqual(before)
  })

  test('has nothing to do if nothing was set up', async () => {
    scene.put('.claude/settings.json', CLAUDE)
    expect(await scene.init(['--undo'])).toEqual({
      code: 0,
      stdout: 'Nothing to do: hookspan is set up in no agent.\n',
      stderr: '',
    })
  })

  test('reports agents without certainty', async () => {
    await scene.init(['pi'])
    scene.put('.gemini/settings.json', '{ "a": ')
    const { code, stdout, stderr } = await scene.init(['--undo', '--yes'])
    expect(code).toBe(1)
    expect(stdout).toContain('Done: Pi no longer loads hookspan.')
    expect(stderr).toMatch(/^hookspan init: gemini: .*\nhookspan init: not done: gemini \(see above\)\n$/)
  })
})

describe('an installed agent', () => {
  const found = async (start: Parameters<InitScene['init']>[1]): Promise<string[]> => {
    const { stdout } = await scene.init(['--dry-run', '--json'], start)
    return stdout
      .split('\n')
      .filter(line => line !== '')
      .map(line => (JSON.parse(line) as { host: string }).host)
  }

  test.each([
    ['claude', ['claude-code']],
    ['codex', ['codex']],
    ['gemini', ['gemini']],
    ['qwen', ['qwen']],
    ['opencode', ['opencode']],
    ['kilocode', ['kilo']],
    ['openclaw', ['openclaw']],
    ['cursor', ['cursor']],
    ['cursor-agent', ['cursor']],
    // Names that other programs have, too.
    ['pi', []],
    ['hermes', []],
    ['kilo', []],
    ['copilot', []],
  ])('is found by the program %s: %j', async (program, hosts) => {
    expect(await found({ env: { PATH: `/nowhere:${scene.program(program)}` } })).toEqual(hosts)
  })

  test.each([
    ['.claude/x', ['claude-code']],
    ['.codex/x', ['codex']],
    ['.gemini/settings.json', ['gemini']],
    ['.gemini/antigravity/x', []],
    ['.qwen/x', ['qwen']],
    ['.config/opencode/x', ['opencode']],
    ['.config/kilo/x', ['kilo']],
    ['.openclaw/x', ['openclaw']],
    ['.cursor/x', ['cursor']],
    ['.copilot/x', ['copilot']],
    ['.pi/agent/x', ['pi']],
    ['.hermes/config.yaml', ['hermes']],
    ['.hermes/config.toml', []],
  ])('is found by %s: %j', async (file, hosts) => {
    scene.put(file, '{}')
    expect(await found({})).toEqual(hosts)
  })

  test('is found by the folder that its own variable names', async () => {
    scene.put('elsewhere/x', '')
    expect(await found({ env: { CODEX_HOME: scene.path('elsewhere') } })).toEqual(['codex'])
  })

  test('is not found by a file that is not executable', async () => {
    const folder = scene.program('codex')
    chmodSync(join(folder, 'codex'), 0o644)
    mkdirSync(join(folder, 'claude'))
    expect(await found({ env: { PATH: folder } })).toEqual([])
  })

  test.each([
    [
      'package.json',
      '{ "dependencies": { "@openai/agents": "1" }, "devDependencies": { "ai": "7" } }',
      ['openai-agents', 'ai-sdk'],
    ],
    ['package.json', '{ "peerDependencies": { "@anthropic-ai/claude-agent-sdk": "*" } }', ['claude-agent-sdk']],
    ['package.json', '{ "name": "ai", "scripts": { "ai": "ai" } }', []],
    ['package.json', '{ "dependencies": ', []],
    ['pyproject.toml', '[project]\ndependencies = ["locus-sdk>=3.0"]\n', ['locus']],
    ['requirements.txt', 'pydantic\nLocus_SDK[openai]==3.0.1\n', ['locus']],
    ['requirements.txt', 'locus-sdk-extras\nmy-locus-sdk\nlocus\n', []],
  ])('is found by a project: %s %s', async (file, text, hosts) => {
    scene.put(`app/${file}`, text)
    expect(await found({ project: scene.path('app/src/deep') })).toEqual(hosts)
    expect(await found({ project: scene.path('other') })).toEqual([])
  })
})
