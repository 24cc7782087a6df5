import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { claudeCodeGuards } from '../../../src/agents/claude-code/guard-protocol.ts'
import { ClaudeCodeAdapter } from '../../../src/agents/claude-code/receiver-adapter.ts'
import { type AnyHook, ask, block, defineHook, inject, retry, rewrite } from '../../../src/guards/index.ts'
import { type ModelReply, type ModelRequest, startModelServer } from '../../support/model-server.mjs'
import { type Claim, claims, decided, GuardedReceiver } from '../guarded-receiver.ts'
import {
  type HostProcess,
  hookspanFolder,
  hostCommand,
  hostNode,
  runHost,
  scratchHome,
  scratchProject,
  startHost,
  type Traces,
  tracesOf,
} from '../live-host.ts'
import { call, TYPED, talk } from './claude.ts'

interface Scene {
  readonly hooks: readonly AnyHook[]
  readonly guards?: 'open' | 'closed'
  readonly args?: readonly string[]
  readonly meanwhile?: (claude: HostProcess) => Promise<unknown>
  answer(request: ModelRequest, receiver: GuardedReceiver): ModelReply | Promise<ModelReply>
}

interface Run {
  /** What it printed. */
  readonly said: string
  /** What the model was sent, one text for each request. */
  readonly requests: readonly string[]
  has(file: string): boolean
  readonly traces: Traces
  readonly lines: readonly string[]
}

const MAY = ['--allowedTools', 'Bash(rm:*)', 'Bash(touch:*)', 'Bash(echo:*)', 'Agent']

async function guarded({
  hooks,
  guards = 'open',
  args = ['-p', 'Go', ...MAY],
  meanwhile,
  answer,
}: Scene): Promise<Run> {
  const home = scratchHome()
  const project = scratchProject(home, { files: { 'kept.txt': 'precious' } })
  const adapter = new ClaudeCodeAdapter({
    place: { folders: [join(home, '.claude')], uid: process.getuid?.() },
    wait: sleep,
  })
  const receiver = await GuardedReceiver.start({ home, host: 'claude-code', adapter, hooks, guards })
  const model = await startModelServer(request => answer(request, receiver))
  try {
    const claude = startClaude(args, { home, cwd: project, model: model.url })
    await meanwhile?.(claude)
    const { stdout } = await claude.end()
    return {
      said: stdout.trim(),
      requests: model.requests.map(({ body }) => JSON.stringify(body)),
      has: file => existsSync(join(project, file)),
      traces: await receiver.traces(),
      lines: receiver.lines,
    }
  } finally {
    await receiver.stop()
    await model.close()
  }
}

function startClaude(
  args: readonly string[],
  { home, cwd, model }: { readonly home: string; readonly cwd: string; readonly model: string },
): HostProcess {
  const [command = '', ...first] = hostCommand()
  const env = {
    ANTHROPIC_BASE_URL: model,
    ANTHROPIC_API_KEY: 'dummy',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    // Root may not go without permissions otherwise.
    IS_SANDBOX: '1',
  }
  return startHost(command, [...first, ...args], { home, cwd, env })
}

const claimed = new Set<Claim>()

/** @param shows what of the table of Claude Code it shows */
function scene(name: string, shows: readonly Claim[], run: () => Promise<void>): void {
  for (const claim of shows) claimed.add(claim)
  test(`guards: ${name}`, run)
}

const once =
  (command: string, text = 'Done.') =>
  ({ toolResults }: ModelRequest): ModelReply =>
    toolResults === 0 ? call('Bash', { command }) : { text }

const noRm = defineHook({
  name: 'no-rm',
  priority: 10,
  onFailure: 'block',
  beforeTool: ({ tool }) => (tool.command?.startsWith('rm ') ? block('Files stay where they are.') : undefined),
})

const elsewhere = defineHook({
  name: 'elsewhere',
  decisions: ['rewrite'],
  beforeTool: ({ tool }) => rewrite({ ...tool.arguments, command: tool.command?.replace('one', 'two') }),
})

scene('a guard blocks a command', ['beforeTool block'], async () => {
  const run = await guarded({ hooks: [noRm], answer: once('rm kept.txt') })
  expect(run.has('kept.txt')).toBe(true)
  expect(run.requests.at(-1)).toContain('Files stay where they are.')
  expect(run.said).toBe('Done.')
  expect(decided(run.traces)).toMatchInlineSnapshot(`
    [
      "tool.Bash: hook.no-rm block, blocked",
    ]
  `)
  expect(run.traces.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=blocked]
            hook.no-rm OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

scene('a guard rewrites a command: what runs is the rewritten one', ['beforeTool rewrite'], async () => {
  const run = await guarded({ hooks: [elsewhere], answer: once('touch one.txt') })
  expect([run.has('one.txt'), run.has('two.txt')]).toEqual([false, true])
  expect(decided(run.traces)).toMatchInlineSnapshot(`
    [
      "tool.Bash: hook.elsewhere rewrite, rewritten",
    ]
  `)
})

scene('a rewrite does not permit what nobody has permitted', ['beforeTool rewrite'], async () => {
  const run = await guarded({ hooks: [elsewhere], args: ['-p', 'Go'], answer: once('touch one.txt') })
  expect([run.has('one.txt'), run.has('two.txt')]).toEqual([false, false])
})

scene(
  'lines are injected beside the prompt, a tool and its result',
  ['beforeTurn inject', 'beforeTool inject', 'afterTool inject'],
  async () => {
    const says = defineHook({
      name: 'says',
      decisions: ['inject'],
      beforeTurn: () => inject('LINE-OF-THE-TURN'),
      beforeTool: () => inject('LINE-BEFORE-THE-TOOL'),
      afterTool: () => inject('LINE-BEHIND-THE-TOOL'),
    })
    const run = await guarded({ hooks: [says], answer: once('echo hi') })
    expect(run.requests[0]).toContain('LINE-OF-THE-TURN')
    expect(run.requests[1]).toContain('LINE-BEFORE-THE-TOOL')
    expect(run.requests[1]).toContain('LINE-BEHIND-THE-TOOL')
    expect(decided(run.traces)).toMatchInlineSnapshot(`
      [
        "agent: hook.says inject, injected",
        "tool.Bash: hook.says inject, injected",
        "tool.Bash: hook.says inject, injected",
      ]
    `)
  },
)

const careful = defineHook({
  name: 'careful',
  decisions: ['ask'],
  beforeTool: ({ tool }) => ask(`Shall this run: ${tool.command}?`),
})

scene('nobody is there to be asked: the tool does not run', ['beforeTool ask'], async () => {
  const run = await guarded({ hooks: [careful], answer: once('touch one.txt') })
  expect(run.has('one.txt')).toBe(false)
  expect(decided(run.traces)).toMatchInlineSnapshot(`
    [
      "tool.Bash: hook.careful ask, asked",
    ]
  `)
})

scene('a person is asked about what runs', ['beforeTool ask', 'beforeTool rewrite'], async () => {
  const asked: string[] = []
  const permits = (command: string): boolean => asked.push(command) > 0
  const run = await guarded({
    hooks: [careful, elsewhere],
    args: [...TYPED, ...MAY],
    meanwhile: claude => talk(claude, { prompts: ['Go'], permits }),
    answer: once('touch one.txt'),
  })
  expect(asked).toEqual(['touch two.txt'])
  expect([run.has('one.txt'), run.has('two.txt')]).toEqual([false, true])
})

scene('a result is rewritten before the model sees it', ['afterTool rewrite'], async () => {
  const masks = defineHook({
    name: 'masks',
    decisions: ['rewrite'],
    afterTool: ({ result }) => rewrite({ ...(result as object), stdout: 'MASKED' }),
  })
  const run = await guarded({ hooks: [masks], answer: once('echo the-$((6*7))') })
  expect(run.requests[1]).toContain('MASKED')
  expect(run.requests[1]).not.toContain('the-42')
})

scene('a text as a result takes the place of the text in it', ['afterTool rewrite'], async () => {
  const masks = defineHook({ name: 'masks', decisions: ['rewrite'], afterTool: () => rewrite('MASKED') })
  const run = await guarded({
    hooks: [masks],
    answer: ({ toolResults }) => {
      if (toolResults > 0) return { text: 'Done.' }
      const calls = [call('Bash', { command: 'echo the-$((6*7))' }), call('Read', { file_path: 'kept.txt' })]
      return { toolCalls: calls.flatMap(({ toolCalls = [] }) => toolCalls) }
    },
  })
  expect(run.requests[1]?.split('MASKED')).toHaveLength(3)
  expect(run.requests[1]).not.toMatch(/the-42|precious/)
})

scene('a guard holds where nobody is asked about anything', ['beforeTool block'], async () => {
  const args = ['-p', 'Go', '--permission-mode', 'bypassPermissions']
  const run = await guarded({ hooks: [noRm], args, answer: once('rm kept.txt') })
  expect(run.has('kept.txt')).toBe(true)
})

scene('a prompt is blocked: the model is not asked', ['beforeTurn block'], async () => {
  const quiet = defineHook({ name: 'quiet', beforeTurn: () => block('Not today.') })
  const run = await guarded({ hooks: [quiet], answer: () => ({ text: 'Hello.' }) })
  expect(run.requests).toEqual([])
  expect(run.said).toContain('Not today.')
  expect(decided(run.traces)).toMatchInlineSnapshot(`
    [
      "agent: hook.quiet block, blocked",
    ]
  `)
})

scene('a turn is sent on, and not for ever', ['afterTurn retry'], async () => {
  const again = defineHook({ name: 'again', decisions: ['retry'], afterTurn: () => retry({ feedback: 'Once more.' }) })
  const run = await guarded({ hooks: [again], answer: () => ({ text: 'Done.' }) })
  expect(run.requests).toHaveLength(4)
  expect(run.requests[1]).toContain('Once more.')
  expect(decided(run.traces)).toMatchInlineSnapshot(`
    [
      "agent: hook.again retry, none",
      "llm.claude-opus-5-5: hook.again retry, retried",
      "llm.claude-opus-5-5: hook.again retry, retried",
      "llm.claude-opus-5-5: hook.again retry, retried",
    ]
  `)
})

const FAILING: Record<string, () => Promise<undefined>> = {
  throws: () => {
    throw new Error('broken')
  },
  rejects: () => Promise.reject(new Error('broken')),
  hangs: () => new Promise(() => undefined),
}

for (const [how, beforeTool] of Object.entries(FAILING)) {
  for (const onFailure of ['pass', 'block'] as const) {
    scene(`a guard that ${how}, and is to ${onFailure} then`, [], async () => {
      const hook = defineHook({ name: 'failing', onFailure, beforeTool })
      const run = await guarded({ hooks: [hook], answer: once('touch one.txt') })
      expect(run.has('one.txt')).toBe(onFailure === 'pass')
      expect(run.lines.join('\n')).toContain('hook failing failed in beforeTool')
    })
  }
}

for (const guards of ['open', 'closed'] as const) {
  scene(`nobody listens any more, and it is ${guards}`, [], async () => {
    const run = await guarded({
      hooks: [noRm],
      guards,
      answer: async (request, receiver) => {
        await receiver.stop()
        return once('touch one.txt')(request)
      },
    })
    expect(run.has('one.txt')).toBe(guards === 'open')
  })
}

scene('a child agent is guarded, too', ['beforeTool block'], async () => {
  const run = await guarded({
    hooks: [noRm],
    answer: ({ prompt, toolResults }) => {
      if (prompt.startsWith('CHILD'))
        return toolResults > 0 ? { text: 'Stays.' } : call('Bash', { command: 'rm kept.txt' })
      const about = { description: 'x', prompt: 'CHILD', subagent_type: 'general-purpose', run_in_background: false }
      return toolResults > 0 ? { text: 'Done.' } : call('Agent', about)
    },
  })
  expect(run.has('kept.txt')).toBe(true)
  expect(decided(run.traces)).toMatchInlineSnapshot(`
    [
      "tool.Bash: hook.no-rm block, blocked",
    ]
  `)
})

const NO_RM = `import { block, defineHook } from 'hookspan/hooks'
export default defineHook({
  name: 'no-rm',
  onFailure: 'block',
  beforeTool: ({ tool }) => (tool.command?.startsWith('rm ') ? block('Files stay where they are.') : undefined),
})
`

scene('a guard out of a folder, in a receiver that the agent has started', ['beforeTool block'], async () => {
  const home = scratchHome()
  const project = scratchProject(home, { files: { 'kept.txt': 'precious' } })
  const folder = join(home, '.config', 'hookspan', 'hooks')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, 'no-rm.mjs'), NO_RM, { mode: 0o600 })
  const hookspan = (...args: readonly string[]): ReturnType<typeof runHost> =>
    runHost(hostNode(), [join(hookspanFolder(), 'dist', 'cli', 'main.js'), ...args], { home, cwd: project })
  await hookspan('init', 'claude-code', '--guards', 'closed')
  const model = await startModelServer(({ toolResults }) => {
    const calls = ['rm kept.txt', 'touch one.txt'].map(command => call('Bash', { command }))
    return toolResults > 0 ? { text: 'Done.' } : { toolCalls: calls.flatMap(({ toolCalls = [] }) => toolCalls) }
  })
  try {
    expect((await startClaude(['-p', 'Go', ...MAY], { home, cwd: project, model: model.url }).end()).stdout).toBe(
      'Done.\n',
    )
    expect([existsSync(join(project, 'kept.txt')), existsSync(join(project, 'one.txt'))]).toEqual([true, true])
  } finally {
    await hookspan('serve', '--stop')
    await model.close()
  }
  expect(decided(await tracesOf(home))).toEqual(['tool.Bash: hook.no-rm block, blocked'])
})

test('guards: each decision that the table of Claude Code claims was seen', () => {
  expect([...claimed].sort()).toEqual(claims(claudeCodeGuards.capabilities))
})
