import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ABLE } from '../../../src/agents/claude-agent-sdk/hooks.ts'
import { type ModelReply, type ModelRequest, startModelServer } from '../../support/model-server.mjs'
import { attributesOf, FAILURES, failing, GuardScenes, guardModule, guardTree, hook, NO_RM } from '../guard-scenes.ts'
import { hostNode, runHost, scratchHome, scratchProject } from '../live-host.ts'
import { call } from './claude.ts'

const scenes = new GuardScenes(ABLE)

/** A query whose options have the hooks. What the person is asked is printed, and what comes out. */
const PROGRAM = `
import { query as plainQuery } from '@anthropic-ai/claude-agent-sdk'
import { traceQuery } from 'hookspan/claude-agent-sdk'
import { attachHooks } from 'hookspan/hooks/claude-agent-sdk'

const query = traceQuery(plainQuery)
const { prompt, permission, options } = JSON.parse(process.argv[2])
const say = said => console.log(JSON.stringify(said))
const canUseTool = async (tool, input) => {
  say({ asked: tool, input })
  return permission === 'deny' ? { behavior: 'deny', message: 'not today' } : { behavior: 'allow', updatedInput: input }
}
const base = { model: 'claude-sonnet-4-5', settingSources: [], cwd: process.cwd(), env: process.env }
const all = { ...base, ...(permission === undefined ? {} : { canUseTool }), ...options }
for await (const message of query({ prompt, options: attachHooks(all, hooks) })) {
  if (message.type === 'result') say({ result: message.result ?? message.subtype })
}
`

/** What the SDK writes behind each result. */
const REMINDER = /<system-reminder>[\s\S]*$/

interface Plan {
  readonly prompt?: string
  readonly permission?: 'allow' | 'deny'
  readonly options?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string>>
  /** A file that is there. */
  readonly keeps?: string
}

interface Lived {
  readonly home: string
  readonly project: string
  readonly requests: readonly ModelRequest[]
  /** What the tools gave the model. */
  readonly results: readonly string[]
  /** What the program has printed. */
  readonly said: readonly Readonly<Record<string, unknown>>[]
  readonly stderr: string
}

async function run(
  hooks: readonly string[],
  answer: (request: ModelRequest) => ModelReply,
  { keeps, env = {}, ...plan }: Plan = {},
): Promise<Lived> {
  const server = await startModelServer(answer)
  try {
    const home = scratchHome()
    const project = scratchProject(home, { files: { 'agent.mjs': guardModule(hooks, PROGRAM) }, withHost: true })
    if (keeps !== undefined) writeFileSync(join(project, keeps), 'kept')
    const ended = await runHost(hostNode(), ['agent.mjs', JSON.stringify({ prompt: 'Do it', ...plan })], {
      home,
      cwd: project,
      env: {
        ANTHROPIC_BASE_URL: server.url,
        ANTHROPIC_API_KEY: 'dummy',
        CLAUDE_CONFIG_DIR: home,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        ...env,
      },
    })
    const lines = ended.stdout.split('\n').filter(line => line.startsWith('{'))
    return {
      home,
      project,
      requests: server.requests,
      results: server.requests.flatMap(({ lastToolResults }) =>
        lastToolResults.map(({ text }) => text.replace(REMINDER, '').trim()),
      ),
      said: lines.map(line => JSON.parse(line) as Record<string, unknown>),
      stderr: ended.stderr,
    }
  } finally {
    await server.close()
  }
}

function uses(reply: ModelReply): (request: ModelRequest) => ModelReply {
  return ({ toolResults }) => (toolResults === 0 ? reply : { text: 'Done.' })
}

function user(request: ModelRequest | undefined): string {
  return (request?.items ?? []).flatMap(item => (item.kind === 'user' ? [item.text] : [])).join('\n')
}

const RM = uses(call('Bash', { command: 'rm keep.txt' }))
const ONE = uses(call('Bash', { command: 'echo one' }))

scenes.scene('beforeTool', 'block', 'rm does not run, whatever the person permits', async () => {
  const lived = await run([NO_RM], RM, { permission: 'allow', keeps: 'keep.txt' })
  expect(existsSync(join(lived.project, 'keep.txt'))).toBe(true)
  expect(lived.results.join()).toContain('Files are not deleted here.')
  expect(lived.said).toEqual([{ result: 'Done.' }])
  expect(await guardTree(lived.home)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred)
          tool.Bash OK [hermes.tool.outcome=blocked, hermes.tool.blocked_by=no-rm]
            hook.no-rm OK [hermes.hook.phase=before_tool, hermes.hook.verdict=block, hermes.hook.action=blocked]
        api.claude-sonnet-4-5 OK (inferred)"
  `)
})

scenes.scene('beforeTool', 'block', 'nor where the person has said that nothing is to be asked', async () => {
  const options = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true }
  // Without it nobody may say so as root.
  const lived = await run([NO_RM], RM, { options, env: { IS_SANDBOX: '1' }, keeps: 'keep.txt' })
  expect(lived.results.join()).toContain('Files are not deleted here.')
  expect(existsSync(join(lived.project, 'keep.txt'))).toBe(true)
})

scenes.scene('beforeTool', 'rewrite', 'the person is still asked, about what then runs', async () => {
  const body = "return rewrite({ ...event.tool.arguments, command: 'echo two > made.txt; cat made.txt' })"
  const answer = uses(call('Bash', { command: 'touch one.txt', description: 'Make it' }))
  const lived = await run([hook('beforeTool', 'rewrite', body)], answer, { permission: 'allow' })
  const input = { command: 'echo two > made.txt; cat made.txt', description: 'Make it' }
  expect(lived.said[0]).toEqual({ asked: 'Bash', input })
  expect(lived.results).toEqual(['two'])
  expect(await guardTree(lived.home)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred)
          tool.Bash OK [hermes.tool.outcome=completed]
            hook.guard OK [hermes.hook.phase=before_tool, hermes.hook.verdict=rewrite, hermes.hook.action=rewritten]
            approval.Bash OK
        api.claude-sonnet-4-5 OK (inferred)"
  `)
  expect(await attributesOf(lived.home, 'tool.Bash', 'input.value')).toEqual([JSON.stringify(input)])
})

describe('asking', () => {
  const REWRITES = "{ name: 'echo', decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'echo two' }) }"
  const asks = hook('beforeTool', 'ask', "return ask('May this run?')")

  scenes.scene(
    'beforeTool',
    'ask',
    'the user is asked about the actual call, also where the SDK would not ask',
    async () => {
      const lived = await run([asks, REWRITES], ONE, { permission: 'allow' })
      expect(lived.said[0]).toEqual({ asked: 'Bash', input: { command: 'echo two' } })
      expect(lived.results).toEqual(['two'])
      expect(await guardTree(lived.home)).toMatchInlineSnapshot(`
        "agent OK
          llm.claude-sonnet-4-5 OK
            api.claude-sonnet-4-5 OK (inferred)
              tool.Bash OK [hermes.tool.outcome=completed]
                hook.echo OK [hermes.hook.phase=before_tool, hermes.hook.verdict=rewrite, hermes.hook.action=rewritten]
                hook.guard OK [hermes.hook.phase=before_tool, hermes.hook.verdict=ask, hermes.hook.action=asked]
                approval.Bash OK
            api.claude-sonnet-4-5 OK (inferred)"
      `)
    },
  )

  scenes.scene('beforeTool', 'ask', 'the person does not agree', async () => {
    const lived = await run([asks, REWRITES], ONE, { permission: 'deny' })
    expect(lived.results).toEqual(['not today'])
  })

  scenes.scene('beforeTool', 'ask', 'nobody can be asked, and it does not run', async () => {
    const lived = await run([asks], ONE)
    expect(lived.results.join()).toContain('wants to ask the user, which is not possible here: May this run?')
    expect(await guardTree(lived.home)).toMatchInlineSnapshot(`
      "agent OK
        llm.claude-sonnet-4-5 OK
          api.claude-sonnet-4-5 OK (inferred)
            tool.Bash OK [hermes.tool.outcome=blocked, hermes.tool.blocked_by=guard]
              hook.guard OK [hermes.hook.phase=before_tool, hermes.hook.verdict=ask, hermes.hook.action=blocked]
          api.claude-sonnet-4-5 OK (inferred)"
    `)
  })
})

scenes.scene('beforeTool', 'inject', 'the model is told a line beside the result', async () => {
  const lived = await run([hook('beforeTool', 'inject', "return inject('Mind the gap.')")], ONE)
  expect(JSON.stringify(lived.requests.at(-1)?.body)).toContain('Mind the gap.')
  expect(lived.results.join()).toContain('one')
})

scenes.scene('beforeTurn', 'block', 'nothing is asked of the model, and the result says why', async () => {
  const body = "return /secret/.test(event.prompt) ? block('No secrets.') : undefined"
  const lived = await run([hook('beforeTurn', 'block', body)], () => ({ text: 'Done.' }), { prompt: 'The secret?' })
  expect(lived.requests).toEqual([])
  expect(JSON.stringify(lived.said)).toContain('No secrets.')
  expect(await guardTree(lived.home)).toMatchInlineSnapshot(`
    "agent OK
      hook.guard OK [hermes.hook.phase=before_turn, hermes.hook.verdict=block, hermes.hook.action=blocked]
      llm.claude-sonnet-4-5 OK"
  `)
})

scenes.scene('beforeTurn', 'inject', 'the model is told a line beside the prompt', async () => {
  const lived = await run([hook('beforeTurn', 'inject', "return inject('It is Monday.')")], () => ({ text: 'Done.' }))
  expect(JSON.stringify(lived.requests[0]?.body)).toContain('It is Monday.')
  expect(user(lived.requests[0])).toContain('Do it')
  expect(await guardTree(lived.home)).toMatchInlineSnapshot(`
    "agent OK
      hook.guard OK [hermes.hook.phase=before_turn, hermes.hook.verdict=inject, hermes.hook.action=injected]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred)"
  `)
})

scenes.scene('afterTool', 'rewrite', 'the model gets the other output', async () => {
  const body = "return rewrite(event.result.replace('one', 'two'))"
  const lived = await run([hook('afterTool', 'rewrite', body)], ONE)
  expect(lived.results).toEqual(['two'])
  expect(await guardTree(lived.home)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred)
          tool.Bash OK [hermes.tool.outcome=completed]
            hook.guard OK [hermes.hook.phase=after_tool, hermes.hook.verdict=rewrite, hermes.hook.action=rewritten]
        api.claude-sonnet-4-5 OK (inferred)"
  `)
})

scenes.scene('afterTool', 'rewrite', 'of a file that it reads', async () => {
  const body = "return rewrite(event.result.replace('kept', 'masked'))"
  const answer = uses(call('Read', { file_path: 'keep.txt' }))
  const lived = await run([hook('afterTool', 'rewrite', body)], answer, { keeps: 'keep.txt' })
  expect(lived.results.join()).toContain('masked')
  expect(JSON.stringify(lived.requests.map(({ body }) => body))).not.toContain('kept')
})

scenes.scene('afterTool', 'block', 'the model gets the reason in the place of the output', async () => {
  const lived = await run([hook('afterTool', 'block', "return block('Withheld.')")], ONE)
  expect(lived.results).toEqual(['Withheld.'])
})

scenes.scene('afterTool', 'inject', 'the model is told a line behind the output', async () => {
  const lived = await run([hook('afterTool', 'inject', "return inject('Mind the gap.')")], ONE)
  expect(JSON.stringify(lived.requests.at(-1)?.body)).toContain('Mind the gap.')
  expect(lived.results.join()).toContain('one')
})

scenes.scene('afterTurn', 'retry', 'the model is asked again, three times at most', async () => {
  const body = "return event.answer === 'Done.' ? retry({ feedback: 'Not yet.', delayMillis: 5 }) : undefined"
  const lived = await run([hook('afterTurn', 'retry', body)], () => ({ text: 'Done.' }))
  expect(lived.requests).toHaveLength(4)
  expect(JSON.stringify(lived.requests[1]?.body)).toContain('Not yet.')
  expect(lived.stderr).toContain('hook guard wanted a retry in afterTurn for the 4th time; 3 are made at most')
  expect(await attributesOf(lived.home, 'hook.guard', 'hermes.hook.action')).toEqual([
    ...['retried', 'retried', 'retried'],
    'none',
  ])
})

test('blocks a guarded tool of a child agent like any other, below the child', async () => {
  const delegation = { description: 'clean up', prompt: 'CHILD: clean up', subagent_type: 'general-purpose' }
  const lived = await run(
    [NO_RM],
    request => {
      if (request.prompt.startsWith('CHILD')) return RM(request)
      return request.toolResults === 0 ? call('Agent', { ...delegation, run_in_background: false }) : { text: 'Done.' }
    },
    { permission: 'allow', keeps: 'keep.txt' },
  )
  expect(existsSync(join(lived.project, 'keep.txt'))).toBe(true)
  expect(await guardTree(lived.home)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred)
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.general-purpose OK
              agent OK
                llm.claude-sonnet-4-5 OK
                  api.claude-sonnet-4-5 OK (inferred)
                    tool.Bash OK [hermes.tool.outcome=blocked, hermes.tool.blocked_by=no-rm]
                      hook.no-rm OK [hermes.hook.phase=before_tool, hermes.hook.verdict=block, hermes.hook.action=blocked]
                  api.claude-sonnet-4-5 OK (inferred)
        api.claude-sonnet-4-5 OK (inferred)
      aux.unlisted OK (inferred)"
  `)
})

describe.each(FAILURES)('a guard that $how', ({ body, failure }) => {
  test.each(['pass', 'block'] as const)('counts as %s', async onFailure => {
    const lived = await run([failing(body, onFailure)], ONE)
    if (onFailure === 'pass') expect(lived.results).toEqual(['one'])
    else expect(lived.results.join()).toContain('The hook broken failed to check this, and is set to block on failure.')
    // Nor in what is said beside a result.
    expect(JSON.stringify(lived.requests.map(({ body }) => body))).not.toContain('of no concern')
    expect(lived.stderr).toContain(`hook broken failed in beforeTool, which counts as ${onFailure}: `)
    expect(await attributesOf(lived.home, 'hook.broken', 'hermes.hook.failure')).toEqual([failure])
    expect(await attributesOf(lived.home, 'hook.broken', 'hermes.hook.action')).toEqual([
      onFailure === 'pass' ? 'ran' : 'blocked',
    ])
  })
})

scenes.end()
