import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { qwenGuards } from '../../../src/agents/qwen/guard-protocol.ts'
import { QwenAdapter } from '../../../src/agents/qwen/receiver-adapter.ts'
import { type AnyHook, ask, block, defineHook, inject, retry, rewrite } from '../../../src/guards/index.ts'
import {
  type ModelReply,
  type ModelRequest,
  type ModelToolCall,
  startModelServer,
} from '../../support/model-server.mjs'
import { type Claim, claims, decided, GuardedReceiver } from '../guarded-receiver.ts'
import { writeJson } from '../hook-recorder.ts'
import { scratchHome, scratchProject, type Traces } from '../live-host.ts'
import { SETTINGS, startQwen } from './qwen.ts'

interface Scene {
  readonly hooks: readonly AnyHook[]
  readonly guards?: 'open' | 'closed'
  answer(request: ModelRequest, receiver: GuardedReceiver): ModelReply | Promise<ModelReply>
}

interface Run {
  readonly said: string
  /** What the model was sent, one text for each request. */
  readonly requests: readonly string[]
  has(file: string): boolean
  readonly traces: Traces
  readonly lines: readonly string[]
}

async function guarded({ hooks, guards = 'open', answer }: Scene): Promise<Run> {
  const home = scratchHome()
  const project = scratchProject(home, { files: { 'kept.txt': 'precious' } })
  const adapter = new QwenAdapter({ place: { folders: [join(home, '.qwen')], uid: process.getuid?.() }, wait: sleep })
  writeJson(join(home, '.qwen', 'settings.json'), SETTINGS)
  const receiver = await GuardedReceiver.start({ home, host: 'qwen', adapter, hooks, guards })
  const model = await startModelServer(request => answer(request, receiver))
  try {
    const qwen = startQwen(['--yolo', '-p', 'Go'], { home, cwd: project, model: model.url })
    const { stdout } = await qwen.end()
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

const claimed = new Set<Claim>()

/** @param shows what of the table of Qwen Code it shows */
function scene(name: string, shows: readonly Claim[], run: () => Promise<void>): void {
  for (const claim of shows) claimed.add(claim)
  test(`guards: ${name}`, run)
}

function shell(command: string): ModelToolCall {
  return { name: 'run_shell_command', arguments: { command, is_background: false } }
}

const once =
  (command: string) =>
  ({ toolResults }: ModelRequest): ModelReply =>
    toolResults === 0 ? { toolCalls: [shell(command)] } : { text: 'Done.' }

const noRm = defineHook({
  name: 'no-rm',
  priority: 10,
  onFailure: 'block',
  beforeTool: ({ tool }) => (tool.command?.startsWith('rm ') ? block('Files stay where they are.') : undefined),
})

scene('a guard blocks a command', ['beforeTool block'], async () => {
  const run = await guarded({ hooks: [noRm], answer: once('rm kept.txt') })
  expect(run.has('kept.txt')).toBe(true)
  expect(run.requests.at(-1)).toContain('Files stay where they are.')
  expect(run.said).toBe('Done.')
  expect(decided(run.traces)).toMatchInlineSnapshot(`
    [
      "tool.run_shell_command: hook.no-rm block, blocked",
    ]
  `)
  expect(run.traces.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.run_shell_command OK [hermes.tool.outcome=blocked]
            hook.no-rm OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

scene('a rewrite is said to be impossible, and the command runs as it is', [], async () => {
  const elsewhere = defineHook({
    name: 'elsewhere',
    decisions: ['rewrite'],
    beforeTool: ({ tool }) => rewrite({ ...tool.arguments, command: tool.command?.replace('one', 'two') }),
  })
  const run = await guarded({ hooks: [elsewhere], answer: once('touch one.txt') })
  expect([run.has('one.txt'), run.has('two.txt')]).toEqual([true, false])
  expect(run.lines.join('\n')).toContain('hook elsewhere cannot rewrite in beforeTool of qwen')
})

scene(
  'lines are injected beside the prompt and a result, and none beside a tool',
  ['beforeTurn inject', 'afterTool inject'],
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
    expect(run.requests[1]).not.toContain('LINE-BEFORE-THE-TOOL')
    expect(run.lines.join('\n')).toContain('hook says cannot inject in beforeTool of qwen')
    expect(run.requests[1]).toContain('LINE-BEHIND-THE-TOOL')
    expect(decided(run.traces)).toMatchInlineSnapshot(`
      [
        "llm.fake-1: hook.says inject, injected",
        "llm.fake-1: hook.says inject, injected",
        "tool.run_shell_command: hook.says inject, injected",
        "tool.run_shell_command: hook.says inject, none",
      ]
    `)
  },
)

scene('nobody is there to be asked: the tool does not run', ['beforeTool ask'], async () => {
  const careful = defineHook({ name: 'careful', decisions: ['ask'], beforeTool: () => ask('Shall this run?') })
  const run = await guarded({ hooks: [careful], answer: once('touch one.txt') })
  expect(run.has('one.txt')).toBe(false)
  expect(run.requests.at(-1)).toContain('Shall this run?')
  expect(decided(run.traces)).toMatchInlineSnapshot(`
    [
      "tool.run_shell_command: hook.careful ask, asked",
    ]
  `)
})

scene('a prompt is blocked: the model is not asked', ['beforeTurn block'], async () => {
  const quiet = defineHook({ name: 'quiet', beforeTurn: () => block('Not today.') })
  const run = await guarded({ hooks: [quiet], answer: () => ({ text: 'Hello.' }) })
  expect(run.requests).toEqual([])
  expect(decided(run.traces)).toMatchInlineSnapshot(`
    [
      "?: hook.quiet block, blocked",
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
      "agent: hook.again retry, retried",
      "agent: hook.again retry, retried",
      "agent: hook.again retry, retried",
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
  for (const [guards, onFailure] of [
    ['open', 'pass'],
    ['closed', 'block'],
  ] as const) {
    scene(`a guard that ${how}, and is to ${onFailure} then, ${guards}`, [], async () => {
      const hook = defineHook({ name: 'failing', onFailure, beforeTool })
      const run = await guarded({ hooks: [hook], guards, answer: once('touch one.txt') })
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

scene('a closed guard judges, and lets run what it does not mind', ['beforeTool block'], async () => {
  const run = await guarded({
    hooks: [noRm],
    guards: 'closed',
    answer: ({ toolResults }) =>
      toolResults === 0 ? { toolCalls: [shell('rm kept.txt'), shell('touch one.txt')] } : { text: 'Done.' },
  })
  expect([run.has('kept.txt'), run.has('one.txt')]).toEqual([true, true])
  expect(run.requests.at(-1)).toContain('Files stay where they are.')
})

scene('a child agent is guarded, too', ['beforeTool block'], async () => {
  const run = await guarded({
    hooks: [noRm],
    answer: ({ prompt, toolResults }) => {
      if (prompt.startsWith('CHILD'))
        return toolResults > 0 ? { text: 'Stays.' } : { toolCalls: [shell('rm kept.txt')] }
      const about = { description: 'x', prompt: 'CHILD x', subagent_type: 'general-purpose', run_in_background: false }
      return toolResults > 0 ? { text: 'Done.' } : { toolCalls: [{ name: 'agent', arguments: about }] }
    },
  })
  expect(run.has('kept.txt')).toBe(true)
  expect(decided(run.traces)).toMatchInlineSnapshot(`
    [
      "tool.run_shell_command: hook.no-rm block, blocked",
    ]
  `)
})

test('guards: each decision that the table of Qwen Code claims was seen', () => {
  expect([...claimed].sort()).toEqual(claims(qwenGuards.capabilities))
})
