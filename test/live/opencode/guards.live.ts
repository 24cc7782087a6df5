import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ABLE } from '../../../src/agents/opencode/hooks.ts'
import type { ModelReply, ModelRequest, ModelToolCall } from '../../support/model-server.mjs'
import { attributesOf, FAILURES, failing, GuardScenes, guardModule, guardTree, hook, NO_RM } from '../guard-scenes.ts'
import { type Ended, hookspanFolder } from '../live-host.ts'
import { installed, modelFor, ran } from './opencode.ts'

const scenes = new GuardScenes(ABLE)
const DONE = () => ({ text: 'Done.' })
const shell = (command: string): ModelToolCall => ({ name: 'bash', arguments: { command, description: 'For a test' } })

interface Lived {
  readonly home: string
  readonly project: string
  /** Those of the loop. */
  readonly requests: readonly ModelRequest[]
  /** What the tools gave the model. */
  readonly results: readonly string[]
  readonly ended: Ended
}

/** @param file decides whether it is loaded before `hookspan.js`, or after it */
async function run(
  hooks: readonly string[],
  answer: (request: ModelRequest) => ModelReply,
  file = 'z-guards.js',
): Promise<Lived> {
  const server = await modelFor({ answer })
  const opencode = installed(server.url)
  const plugins = join(opencode.home, '.config', 'opencode', 'plugins')
  mkdirSync(plugins, { recursive: true })
  const attach = "import { attachHooks } from 'hookspan/hooks/opencode'\nexport const Guards = attachHooks(hooks)"
  const source = guardModule(hooks, attach)
    .replaceAll("'hookspan/hooks/opencode'", `'${entry('agents/opencode/hooks.js')}'`)
    .replaceAll("'hookspan/hooks'", `'${entry('guards/index.js')}'`)
  writeFileSync(join(plugins, file), source)
  const ended = await ran('Do it', opencode)
  const requests = server.requests.filter(({ tools }) => tools.length > 0)
  const results = requests.flatMap(({ lastToolResults }) => lastToolResults.map(({ text }) => text.trim()))
  return { ...opencode, requests, results, ended }
}

function entry(path: string): string {
  return pathToFileURL(join(hookspanFolder(), 'dist', path)).href
}

function uses(...toolCalls: readonly ModelToolCall[]): (request: ModelRequest) => ModelReply {
  return ({ toolResults }) => (toolResults === 0 ? { toolCalls } : { text: 'Done.' })
}

function saidBy(kind: 'system' | 'user', request: ModelRequest | undefined): string {
  return (request?.items ?? []).flatMap(item => (item.kind === kind ? [item.text] : [])).join('\n')
}

const ONE = uses(shell('echo one'))

scenes.scene('beforeTool', 'block', 'the file is still there, and the model and the trace know why', async () => {
  const lived = await run([NO_RM], uses(shell('rm notes.txt')))
  expect(existsSync(join(lived.project, 'notes.txt'))).toBe(true)
  expect(lived.results.join()).toContain('Files are not deleted here.')
  expect(lived.ended.stdout).toContain('Done.')
  expect(await attributesOf(lived.home, 'tool.bash', 'hermes.tool.blocked_by')).toEqual(['no-rm'])
  expect(await guardTree(lived.home)).toMatchInlineSnapshot(`
    "agent OK
      llm.fake-1 OK
        api.fake-1 OK
          hook.no-rm OK [hermes.hook.phase=before_tool, hermes.hook.verdict=block, hermes.hook.action=blocked]
          tool.bash OK [hermes.tool.outcome=blocked, hermes.tool.blocked_by=no-rm]
        api.fake-1 OK
      aux.title OK"
  `)
})

scenes.scene('beforeTool', 'block', 'what a person would be asked, whom no plugin can ask', async () => {
  const lived = await run([hook('beforeTool', 'ask', "return ask('May this run?')")], ONE)
  expect(lived.results.join()).toContain(
    'The hook guard wants to ask the user, which is not possible here: May this run?',
  )
  expect(lived.ended.stderr).toContain('hook guard cannot ask in beforeTool of opencode: it blocks instead')
})

scenes.scene('beforeTool', 'rewrite', 'the tool runs with what the hook has made of it', async () => {
  const body = "return rewrite({ ...event.tool.arguments, command: 'echo two' })"
  const lived = await run([hook('beforeTool', 'rewrite', body)], ONE)
  expect(lived.results).toEqual(['two'])
  expect(await guardTree(lived.home)).toMatchInlineSnapshot(`
    "agent OK
      llm.fake-1 OK
        api.fake-1 OK
          hook.guard OK [hermes.hook.phase=before_tool, hermes.hook.verdict=rewrite, hermes.hook.action=rewritten]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK
      aux.title OK"
  `)
  const input = { command: 'echo two', description: 'For a test' }
  expect(await attributesOf(lived.home, 'tool.bash', 'input.value')).toEqual([JSON.stringify(input)])
})

describe.each(['a-guards.js', 'z-guards.js'])('loaded as %s', file => {
  scenes.scene('beforeTurn', 'rewrite', 'the model gets the other prompt', async () => {
    const lived = await run([hook('beforeTurn', 'rewrite', "return rewrite(event.prompt + ' politely')")], DONE, file)
    expect(saidBy('user', lived.requests[0])).toMatch(/Do it\S? politely/)
    // Which of both is told first is the order in which they were loaded.
    expect((await guardTree(lived.home)).split('\n').toSorted()).toEqual([
      '    api.fake-1 OK',
      '  aux.title OK',
      '  hook.guard OK [hermes.hook.phase=before_turn, hermes.hook.verdict=rewrite, hermes.hook.action=rewritten]',
      '  llm.fake-1 OK',
      'agent OK',
    ])
  })
})

scenes.scene(
  'beforeTurn',
  'inject',
  'a line in the system prompt, of every request, and one beside the prompt',
  async () => {
    const other = "{ name: 'other', decisions: ['inject'], beforeTurn: () => inject('It is Monday.', 'user') }"
    const lived = await run([hook('beforeTurn', 'inject', "return inject('In Latin.', 'system')"), other], ONE)
    expect(lived.requests.map(request => saidBy('system', request).includes('In Latin.'))).toEqual([true, true])
    expect(lived.requests.map(request => saidBy('user', request).includes('It is Monday.'))).toEqual([true, true])
  },
)

scenes.scene('beforeModel', 'rewrite', 'the model gets the other messages', async () => {
  const body = "return rewrite(event.messages.map(each => ({ ...each, text: each.text.replace('one', 'two') })))"
  const lived = await run([hook('beforeModel', 'rewrite', body)], ONE)
  expect(lived.results).toEqual(['two'])
})

scenes.scene('beforeModel', 'inject', 'the model is told one line more, in that request', async () => {
  const body = "return event.messages.length === 1 ? inject('It is Monday.', 'user') : inject('In Latin.', 'system')"
  const lived = await run([hook('beforeModel', 'inject', body)], ONE)
  expect(lived.requests.map(request => saidBy('user', request).includes('It is Monday.'))).toEqual([true, false])
  expect(lived.requests.map(request => saidBy('system', request).includes('In Latin.'))).toEqual([false, true])
  expect(await attributesOf(lived.home, 'hook.guard', 'hermes.hook.action')).toEqual(['injected', 'injected'])
})

scenes.scene('afterModel', 'rewrite', 'what is printed is the other answer', async () => {
  const lived = await run([hook('afterModel', 'rewrite', "return rewrite(event.text + ' Gladly.')")], DONE)
  expect(lived.ended.stdout).toContain('Done. Gladly.')
})

scenes.scene('afterTool', 'rewrite', 'the model gets the other result', async () => {
  const lived = await run([hook('afterTool', 'rewrite', "return rewrite(event.result.replace('one', 'two'))")], ONE)
  expect(lived.results).toEqual(['two'])
  expect(await guardTree(lived.home)).toMatchInlineSnapshot(`
    "agent OK
      llm.fake-1 OK
        api.fake-1 OK
          tool.bash OK [hermes.tool.outcome=completed]
            hook.guard OK [hermes.hook.phase=after_tool, hermes.hook.verdict=rewrite, hermes.hook.action=rewritten]
        api.fake-1 OK
      aux.title OK"
  `)
})

scenes.scene('afterTool', 'block', 'the model gets the reason in the place of the result', async () => {
  const lived = await run([hook('afterTool', 'block', "return block('Withheld.')")], ONE)
  expect(lived.results).toEqual(['Withheld.'])
})

scenes.scene('afterTool', 'inject', 'the model gets a line behind the result', async () => {
  const lived = await run([hook('afterTool', 'inject', "return inject('Mind the gap.')")], ONE)
  expect(lived.results.join()).toMatch(/^one\s+Mind the gap\.$/)
})

describe.each(FAILURES)('a guard that $how', ({ body, failure }) => {
  test.each(['pass', 'block'] as const)('counts as %s', async onFailure => {
    const lived = await run([failing(body, onFailure)], ONE)
    if (onFailure === 'pass') expect(lived.results).toEqual(['one'])
    else expect(lived.results.join()).toContain('The hook broken failed to check this, and is set to block on failure.')
    expect(lived.results.join()).not.toContain('of no concern')
    expect(lived.ended.stdout).toContain('Done.')
    expect(lived.ended.stderr).toContain(`hook broken failed in beforeTool, which counts as ${onFailure}: `)
    expect(await attributesOf(lived.home, 'hook.broken', 'hermes.hook.failure')).toEqual([failure])
    expect(await attributesOf(lived.home, 'hook.broken', 'hermes.hook.action')).toEqual([
      onFailure === 'pass' ? 'ran' : 'blocked',
    ])
  })
})

scenes.end()
