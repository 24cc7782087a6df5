import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isTemporary, packageFolder, whyNotLasting, withoutStore } from '../../src/cli/package-folder.ts'
import { InitScene } from './init-scene.ts'
import { REPOSITORY } from './program.ts'

let scene: InitScene
beforeEach(() => {
  scene = new InitScene()
})
afterEach(() => scene.remove())

describe('hookspan init', () => {
  test.each([
    [['--print'], /--print is for one host: pi, openclaw, .*, ai-sdk, locus\n/],
    [['--webhook'], /--webhook is for hermes\n/],
    [['--json'], /--json without a host needs --yes or --dry-run\n/],
    [
      ['zzz'],
      /there is no host "zzz"; hosts: pi, openclaw, opencode, kilo, hermes, claude-code, codex, cursor, copilot, gemini, qwen, claude-agent-sdk, openai-agents, ai-sdk, locus\. An agent of/,
    ],
    [['pi', 'opencode'], /expected one host, got "opencode", too/],
    [['pi', '--force'], /unknown option --force/],
  ])('rejects %j', async (args, message) => {
    const { code, stdout, stderr } = await scene.init(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/Usage: hookspan init \[HOST\]/)
    expect(scene.names()).toEqual([])
  })

  test.each([
    ['claude-agent-sdk', /^import .*\nimport .* from 'hookspan\/claude-agent-sdk'\n.*\n$/],
    ['openai-agents', /^import .*\nimport .* from 'hookspan\/openai-agents'\n.*\n$/],
    ['ai-sdk', /^import .*\nimport .* from 'hookspan\/ai-sdk'\n.*\n$/],
    ['locus', /^# first, .*: pip install \S+\/integrations\/locus\nfrom hookspan_locus import create_hook\n.*\n$/],
  ])('shows the lines for the program of %s', async (host, lines) => {
    const { code, stdout, stderr } = await scene.init([host])
    expect(code).toBe(0)
    expect(stdout).toMatch(lines)
    expect(stderr).toMatch(/There is nothing to configure .*; add these lines to your program \(docs\/agents\/.*\.md/)
    const { content, ...rest } = JSON.parse((await scene.init([host, '--json'])).stdout)
    expect(rest).toEqual({ host, file: null, changed: false, backup: null })
    expect(content).toBe(stdout)
    const undone = await scene.init([host, '--undo'])
    expect(undone.stderr).toContain('remove these lines from your program')
    expect(undone.stdout.split('\n').filter(line => line !== '' && !line.startsWith('#'))).toEqual(
      stdout.split('\n').filter(line => line !== '' && !line.startsWith('#')),
    )
    expect(scene.names()).toEqual([])
  })

  test.each(['pi', 'openclaw', 'opencode', 'locus'])('names no temporary path for %s', async host => {
    const refusal = 'this hookspan runs from a cache of npx'
    for (const print of [[], ['--print'], ['--dry-run']]) {
      expect(await scene.init([host, ...print], { refusal })).toEqual({
        code: 1,
        stdout: '',
        stderr: `hookspan init: ${refusal}\n`,
      })
    }
    expect(scene.names()).toEqual([])
    expect((await scene.init([host, '--undo'], { refusal })).code).toBe(0)
  })

  test.each(['pi', 'openclaw', 'opencode'])('warns and continues in a temporary folder for %s', async host => {
    const lasting = await scene.init([host, '--json'])
    await scene.init([host, '--undo'])
    const { code, stdout, stderr } = await scene.init([host, '--json'], { isTemporary: true })
    expect({ code, stdout }).toEqual({ code: 0, stdout: lasting.stdout })
    expect(JSON.parse(stdout)).toMatchObject({ changed: true })
    expect(stderr).toMatch(
      /^hookspan init: \S+ is in a temporary folder: when it is cleaned, \S+ can no longer load hookspan\n$/,
    )
    expect((await scene.init([host, '--undo'], { isTemporary: true })).stderr).toBe('')
  })

  test.each(['pi', 'openclaw', 'opencode'])('shows the changes and makes none for %s --dry-run', async host => {
    const dry = await scene.init([host, '-n'])
    expect(dry).toMatchObject({ code: 0, stderr: 'Nothing has been written.\n' })
    expect(dry.stdout).toMatch(/^\S+ \(new\)\n\+/)
    expect(scene.names()).toEqual([])
    const done = await scene.init([host])
    expect(done.stdout.startsWith(dry.stdout)).toBe(true)
    const names = scene.names()
    expect(await scene.init([host, '--dry-run', '--undo'])).toMatchObject({ code: 0, stderr: dry.stderr })
    expect(JSON.parse((await scene.init([host, '-n', '--undo', '--json'])).stdout)).toMatchObject({ changed: false })
    expect(scene.names()).toEqual(names)
  })

  test.each([
    ['openclow', 'there is no host "openclow". Did you mean openclaw?'],
    ['OpenCode', 'there is no host "OpenCode". Did you mean opencode?'],
    ['open-claw', 'there is no host "open-claw". Did you mean openclaw?'],
    ['openai-agents-sdk', 'there is no host "openai-agents-sdk". Did you mean openai-agents?'],
    ['vercel', 'there is no host "vercel". Did you mean ai-sdk?'],
    ['anthropic', 'there is no host "anthropic". Did you mean claude-agent-sdk?'],
    ['claude', 'there is no host "claude". Did you mean claude-code?'],
    ['claud', 'there is no host "claud". Did you mean claude-code?'],
    ['openai', /no adapter for the plain OpenAI client; .*: hookspan init openai-agents$/],
    ['codex-cli', 'there is no host "codex-cli". Did you mean codex?'],
    ['locus-sdk', 'there is no host "locus-sdk". Did you mean locus?'],
    ['hermes-agent', 'there is no host "hermes-agent". Did you mean hermes?'],
    ['langgraph', /^there is no host "langgraph"; hosts: .*: docs\/own-agent\.md$/],
    ['__proto__', /^there is no host "__proto__"; hosts: /],
  ])('suggests the intended or the existing agents for %s', async (host, message) => {
    const { code, stdout, stderr } = await scene.init([host])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    const [first = ''] = stderr.split('\n')
    expect(first.replace('hookspan init: ', '')).toEqual(
      typeof message === 'string' ? message : expect.stringMatching(message),
    )
  })

  test.each(['pi', 'openclaw', 'opencode', 'kilo', 'hermes', 'codex', 'cursor', 'copilot'])(
    'reports for %s that the system knows no home directory',
    async host => {
      const { code, stdout, stderr } = await scene.init([host], { home: '' })
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toBe('hookspan init: there is no home directory\n')
    },
  )

  test.each(['pi', 'openclaw', 'opencode'])('needs a complete hookspan for %s', async host => {
    const folder = join(scene.folder, 'empty')
    const { code, stderr } = await scene.init([host], { folder })
    expect(code).toBe(1)
    expect(stderr).toBe(
      `hookspan init: this copy of hookspan is not complete: there is no ${folder}/dist/agents/${host}/index.js\n`,
    )
    expect(scene.names()).toEqual([])
  })
})

describe('the written lines', () => {
  test.each(['pi', 'opencode', 'claude-agent-sdk', 'openai-agents', 'ai-sdk'])(
    'names the exports of our module for %s',
    async host => {
      const { stdout } = await scene.init([host, '--print'])
      const [, exported = ''] = /port \{ (\w+) \} from '.*hookspan\/.*'/.exec(stdout) ?? []
      const module = await import(`../../src/agents/${host}/index.ts`)
      expect(module).toHaveProperty(exported, expect.any(Function))
    },
  )
})

describe('the installation of hookspan', () => {
  test('is known without a search', () => {
    expect(packageFolder()).toBe(REPOSITORY)
  })

  test.each([
    ['/home/u/.npm/_npx/a1b2/node_modules/hookspan', 'a cache of npx'],
    ['/home/u/.cache/pnpm/dlx/a1/b2/node_modules/hookspan', 'a cache of pnpm dlx'],
    ['/srv/bunx-0-hookspan@latest/node_modules/hookspan', 'a cache of bunx'],
    ['/home/u/.yarn/cache/hookspan-npm-1.zip/node_modules/hookspan', 'inside an archive'],
  ])('is temporary for %s', (folder, why) => {
    const message = whyNotLasting(folder, '/')
    expect(message?.startsWith(`this hookspan runs from ${why} (${folder}), which `)).toBe(true)
    expect(message).toMatch(
      /; install one that stays: npm install -g hookspan \(or npm install hookspan in your project\)$/,
    )
  })

  test('is not advised again if it exists', () => {
    const cache = '/home/u/.npm/_npx/a1b2/node_modules/hookspan'
    const project = scene.path('project')
    scene.put('project/node_modules/hookspan/package.json', '{}')
    scene.put('project/src/deep/file', '')
    for (const from of [project, join(project, 'src', 'deep')]) {
      const message = whyNotLasting(cache, from)
      expect(message).toMatch(/; run the one that you have installed: \S+ init$/)
      expect(message).toContain(join(project, 'node_modules', '.bin', 'hookspan'))
      expect(message).not.toContain('npm install')
    }
  })

  test.each(['/tmp/x/node_modules/hookspan', join(tmpdir(), 'hookspan'), '/var/tmp/hookspan'])(
    'is temporary for %s',
    folder => {
      expect(isTemporary(folder)).toBe(true)
      expect(whyNotLasting(folder, '/')).toBeUndefined()
    },
  )

  test.each([
    '/usr/lib/node_modules/hookspan',
    '/home/u/.nvm/versions/node/v24.1.0/lib/node_modules/hookspan',
    '/home/tmp/hookspan',
    '/tmpfiles/hookspan',
  ])('is permanent for %s', folder => {
    expect(whyNotLasting(folder, '/')).toBeUndefined()
    expect(isTemporary(folder)).toBe(false)
  })

  test('is the link for pnpm, which outlives an upgrade', () => {
    const store = '/home/u/pnpm/global/5/node_modules/.pnpm/hookspan@0.1.0_x/node_modules/hookspan'
    expect(withoutStore(store)).toBe('/home/u/pnpm/global/5/node_modules/hookspan')
    expect(withoutStore('/usr/lib/node_modules/hookspan')).toBe('/usr/lib/node_modules/hookspan')
  })
})
