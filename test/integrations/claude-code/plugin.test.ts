import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { claudeCode } from '../../../src/cli/init/hosts.ts'
import { InitScene } from '../../cli/init-scene.ts'
import { afterwards } from '../../support/afterwards.ts'

const ROOT = new URL('../../../', import.meta.url)
const read = (path: string) => JSON.parse(readFileSync(new URL(path, ROOT), 'utf8'))

interface Hook {
  readonly type: string
  readonly url?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly async?: boolean
  readonly timeout: number
}

/** What is sent, how, and how long an agent may wait for it. */
function ways(hooks: Readonly<Record<string, readonly { readonly hooks: readonly Hook[] }[]>>): object {
  const way = ({ type, url, async, timeout }: Hook): object => ({ type, url, async, timeout })
  return Object.fromEntries(
    Object.entries(hooks).map(([event, groups]) => [event, groups.flatMap(g => g.hooks.map(way))]),
  )
}

test('has the hooks that init writes for a receiver that has never run', () => {
  const scene = new InitScene()
  afterwards(() => scene.remove())
  const { content } = claudeCode.print({
    env: {},
    home: scene.home,
    folder: scene.folder,
    freshToken: '',
    freshPort: async () => 0,
  })
  expect(ways(read('integrations/claude-code/hooks/hooks.json').hooks)).toEqual(ways(JSON.parse(content).hooks))
})

test('reads its token from the environment, and does not contain it', () => {
  for (const groups of Object.values(read('integrations/claude-code/hooks/hooks.json').hooks)) {
    for (const hook of (groups as { hooks: Hook[] }[]).flatMap(group => group.hooks)) {
      if (hook.type === 'http') {
        expect(hook).toMatchObject({
          headers: { 'x-hookspan-token': '$CLAUDE_HOOKSPAN_TOKEN' },
          allowedEnvVars: ['CLAUDE_HOOKSPAN_TOKEN'],
        })
      } else expect([hook.command, ...(hook.args ?? [])].join(' ')).toMatch(/hookspan-hook claude-code(?: --up)?$/)
    }
  }
})

test('has the version of the package', () => {
  expect(read('integrations/claude-code/.claude-plugin/plugin.json')).toMatchObject({
    name: 'hookspan',
    version: read('package.json').version,
  })
})
