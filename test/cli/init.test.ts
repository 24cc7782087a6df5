import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { packageFolder, whyNotLasting, withoutStore } from '../../src/cli/init/package-folder.ts'
import { InitScene } from './init-scene.ts'
import { REPOSITORY } from './program.ts'

let scene: InitScene
beforeEach(() => {
  scene = new InitScene()
})
afterEach(() => scene.remove())

describe('hookspan init', () => {
  test.each([
    [[], /expected a host: pi, openclaw, opencode, claude-agent-sdk, openai-agents\n/],
    [['claw'], /there is no host "claw"; hosts: pi, openclaw, opencode, claude-agent-sdk, openai-agents\n/],
    [['pi', 'opencode'], /expected one host, got "opencode", too/],
    [['pi', '--force'], /unknown option --force/],
  ])('%j is wrong use', async (args, message) => {
    const { code, stdout, stderr } = await scene.init(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/Usage: hookspan init HOST/)
    expect(scene.names()).toEqual([])
  })

  test.each([
    ['claude-agent-sdk', /^import .*\nimport .* from 'hookspan\/claude-agent-sdk'\n.*\n$/],
    ['openai-agents', /^import .*\nimport .* from 'hookspan\/openai-agents'\n.*\n$/],
  ])('of %s shows the lines for the program', async (host, lines) => {
    const { code, stdout, stderr } = await scene.init([host])
    expect(code).toBe(0)
    expect(stdout).toMatch(lines)
    expect(stderr).toMatch(/There is nothing to configure .*; add these lines to your program \(docs\/hosts\/.*\.md/)
    const { content, ...rest } = JSON.parse((await scene.init([host, '--json'])).stdout)
    expect(rest).toEqual({ host, file: null, changed: false, backup: null })
    expect(content).toBe(stdout)
    expect((await scene.init([host, '--undo'])).stderr).toContain('take these lines out of your program')
    expect(scene.names()).toEqual([])
  })

  test.each(['pi', 'openclaw', 'opencode'])('of %s names no place that will be gone', async host => {
    const trouble = 'this hookspan runs from a cache of npx'
    for (const print of [[], ['--print']]) {
      expect(await scene.init([host, ...print], { trouble })).toEqual({
        code: 1,
        stdout: '',
        stderr: `hookspan init: ${trouble} (${scene.folder}); install it first: npm install -g hookspan (or npm install hookspan in your project)\n`,
      })
    }
    expect(scene.names()).toEqual([])
    expect((await scene.init([host, '--undo'], { trouble })).code).toBe(0)
  })

  test.each(['pi', 'openclaw', 'opencode'])('of %s where the system knows of no home directory', async host => {
    const { code, stdout, stderr } = await scene.init([host], { home: '' })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe('hookspan init: there is no home directory\n')
  })

  test.each(['pi', 'openclaw', 'opencode'])('of %s needs a hookspan that is whole', async host => {
    const folder = join(scene.folder, 'empty')
    const { code, stderr } = await scene.init([host], { folder })
    expect(code).toBe(1)
    expect(stderr).toBe(
      `hookspan init: this copy of hookspan is not complete: there is no ${folder}/dist/hosts/${host}/index.js\n`,
    )
    expect(scene.names()).toEqual([])
  })
})

describe('what is written', () => {
  test.each(['pi', 'opencode', 'claude-agent-sdk', 'openai-agents'])(
    'names what our module for %s exports',
    async host => {
      const { stdout } = await scene.init([host, '--print'])
      const [, exported = ''] = /port \{ (\w+) \} from '.*hookspan\/.*'/.exec(stdout) ?? []
      const module = await import(`../../src/hosts/${host}/index.ts`)
      expect(module).toHaveProperty(exported, expect.any(Function))
    },
  )
})

describe('where hookspan is installed', () => {
  test('is known without a search', () => {
    expect(packageFolder()).toBe(REPOSITORY)
  })

  test.each([
    ['/home/u/.npm/_npx/a1b2/node_modules/hookspan', 'a cache of npx'],
    ['/home/u/.cache/pnpm/dlx/a1/b2/node_modules/hookspan', 'a cache of pnpm dlx'],
    ['/srv/bunx-0-hookspan@latest/node_modules/hookspan', 'a cache of bunx'],
    ['/home/u/.yarn/cache/hookspan-npm-1.zip/node_modules/hookspan', 'inside an archive'],
    ['/tmp/x/node_modules/hookspan', 'a temporary folder'],
    [join(tmpdir(), 'hookspan'), 'a temporary folder'],
  ])('%s does not last', (folder, why) => {
    expect(whyNotLasting(folder)).toBe(`this hookspan runs from ${why}`)
  })

  test.each([
    '/usr/lib/node_modules/hookspan',
    '/home/u/.nvm/versions/node/v24.1.0/lib/node_modules/hookspan',
    '/home/tmp/hookspan',
    '/tmpfiles/hookspan',
  ])('%s lasts', folder => {
    expect(whyNotLasting(folder)).toBeUndefined()
  })

  test('of pnpm is the link, which outlives an upgrade', () => {
    const store = '/home/u/pnpm/global/5/node_modules/.pnpm/hookspan@0.1.0_x/node_modules/hookspan'
    expect(withoutStore(store)).toBe('/home/u/pnpm/global/5/node_modules/hookspan')
    expect(withoutStore('/usr/lib/node_modules/hookspan')).toBe('/usr/lib/node_modules/hookspan')
  })
})
