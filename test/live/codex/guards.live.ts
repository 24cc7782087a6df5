import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { codexGuardProtocol } from '../../../src/agents/codex/guard-protocol.ts'
import { CodexAdapter } from '../../../src/agents/codex/receiver-adapter.ts'
import { type AnyHook, ask, block, defineHook, inject, retry, rewrite } from '../../../src/guards/index.ts'
import { type ModelReply, type ModelRequest, startModelServer } from '../../support/model-server.mjs'
import { type Claim, claims, GuardedReceiver } from '../guarded-receiver.ts'
import type { Ended } from '../live-host.ts'
import { AppServer } from './app-server.ts'
import { CodexUser, calls, shell } from './codex.ts'

interface Scene {
  readonly hooks: readonly AnyHook[]
  readonly guards?: 'open' | 'closed'
  readonly run?: (user: CodexUser) => Promise<Ended | undefined>
  answer(request: ModelRequest, receiver: GuardedReceiver): ModelReply | Promise<ModelReply>
}

interface Run {
  /** What it printed, and what it said beside. */
  readonly said: string
  /** What the model was sent, one text for each request. */
  readonly requests: readonly string[]
  has(file: string): boolean
  readonly tree: string
  readonly lines: readonly string[]
}

async function guarded({ hooks, guards = 'open', run = user => user.exec('Go'), answer }: Scene): Promise<Run> {
  let receiver: GuardedReceiver | undefined
  const model = await startModelServer(request => {
    if (receiver === undefined) throw new Error('no receiver')
    return answer(request, receiver)
  })
  const user = new CodexUser(model)
  writeFileSync(join(user.project, 'kept.txt'), 'x')
  const place = { folders: [user.codexHome], uid: process.getuid?.() }
  const adapter = new CodexAdapter({ place, wait: sleep })
  try {
    receiver = await GuardedReceiver.start({ home: user.home, host: 'codex', adapter, hooks, guards })
    const ended = await run(user)
    return {
      said: `${ended?.stdout}\n${ended?.stderr}`,
      requests: model.requests.map(({ body }) => JSON.stringify(body)),
      has: file => existsSync(join(user.project, file)),
      tree: (await receiver.traces()).tree,
      lines: receiver.lines,
    }
  } finally {
    await receiver?.stop()
    // Where ours had ended, another one has been started.
    await user.hookspan('serve', '--stop')
    await model.close()
  }
}

const claimed = new Set<Claim>()

/** @param shows what of the table of Codex it shows */
function scene(name: string, shows: readonly Claim[], run: () => Promise<void>): void {
  for (const claim of shows) claimed.add(claim)
  test(`guards: ${name}`, run)
}

const once = (command: string): ((request: ModelRequest) => ModelReply) => calls(shell(command, 'call_A'))

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
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.Bash OK [hermes.tool.outcome=blocked]
            hook.no-rm OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

scene('a guard rewrites a command: what runs is the rewritten one', ['beforeTool rewrite'], async () => {
  const run = await guarded({ hooks: [elsewhere], answer: once('touch one.txt') })
  expect([run.has('one.txt'), run.has('two.txt')]).toEqual([false, true])
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.Bash OK [hermes.tool.outcome=completed]
            hook.elsewhere OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

scene(
  'a rewritten command is asked about as it runs: the user is asked all the same',
  ['beforeTool rewrite'],
  async () => {
    let asked = ''
    const run = await guarded({
      hooks: [elsewhere],
      answer: calls(
        shell('touch one.txt', 'call_A', { sandbox_permissions: 'require_escalated', justification: 'may I?' }),
      ),
      run: async user => {
        const server = new AppServer(user, 'accept')
        await server.trustHooks()
        await server.prompt('Go')
        asked = server.asked
        await server.end()
        return undefined
      },
    })
    expect(asked).toContain('touch two.txt')
    expect([run.has('one.txt'), run.has('two.txt')]).toEqual([false, true])
  },
)

scene(
  'lines are injected beside the prompt, a tool and its result, also beside a rewrite',
  ['beforeTurn inject', 'beforeTool inject', 'afterTool inject'],
  async () => {
    const says = defineHook({
      name: 'says',
      decisions: ['inject'],
      beforeTurn: () => inject('LINE-OF-THE-TURN'),
      beforeTool: () => inject('LINE-BEFORE-THE-TOOL'),
      afterTool: () => inject('LINE-BEHIND-THE-TOOL'),
    })
    const run = await guarded({ hooks: [says, elsewhere], answer: once('touch one.txt') })
    expect(run.has('two.txt')).toBe(true)
    expect(run.requests[0]).toContain('LINE-OF-THE-TURN')
    expect(run.requests[1]).toContain('LINE-BEFORE-THE-TOOL')
    expect(run.requests[1]).toContain('LINE-BEHIND-THE-TOOL')
    expect(run.tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
        llm.fake-1 OK
          hook.says OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
            tool.Bash OK [hermes.tool.outcome=completed]
              hook.says OK
              hook.elsewhere OK
              hook.says OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
    `)
  },
)

scene('nobody can be asked: the tool does not run, and the model is told why', [], async () => {
  const careful = defineHook({ name: 'careful', decisions: ['ask'], beforeTool: () => ask('Shall this run?') })
  const run = await guarded({ hooks: [careful], answer: once('touch one.txt') })
  expect(run.has('one.txt')).toBe(false)
  expect(run.requests.at(-1)).toContain('Shall this run?')
  expect(run.lines.join('\n')).toContain('hook careful cannot ask in beforeTool of codex: it blocks instead')
})

scene('a result is withheld: the model has the reason in its place', ['afterTool block'], async () => {
  const secret = defineHook({ name: 'secret', afterTool: () => block('That is nobody’s business.') })
  const run = await guarded({ hooks: [secret], answer: once('echo the-$((6*7))') })
  expect(run.requests[1]).toContain('That is nobody’s business.')
  expect(run.requests[1]).not.toContain('the-42')
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.Bash OK [hermes.tool.outcome=completed]
            hook.secret OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

scene('a result is rewritten before the model sees it', ['afterTool rewrite', 'afterTool inject'], async () => {
  const masks = defineHook({
    name: 'masks',
    decisions: ['rewrite', 'inject'],
    afterTool: ({ result }) => rewrite(String(result).replace('the-42', 'MASKED')),
  })
  const says = defineHook({ name: 'says', decisions: ['inject'], afterTool: () => inject('It was masked.') })
  const run = await guarded({ hooks: [masks, says], answer: once('echo the-$((6*7))') })
  expect(run.requests[1]).toMatch(/"output":"MASKED\\n"/)
  expect(run.requests[1]).toContain('It was masked.')
  expect(run.requests[1]).not.toContain('the-42')
})

scene('a prompt is blocked: the model is not asked', ['beforeTurn block'], async () => {
  const quiet = defineHook({ name: 'quiet', beforeTurn: () => block('Not today.') })
  const run = await guarded({ hooks: [quiet], answer: () => ({ text: 'Hello.' }) })
  expect(run.requests).toEqual([])
  expect(run.said).toContain('UserPromptSubmit Blocked')
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        hook.quiet OK"
  `)
})

scene('a turn is sent on, and not for ever', ['afterTurn retry'], async () => {
  const again = defineHook({ name: 'again', decisions: ['retry'], afterTurn: () => retry({ feedback: 'Once more.' }) })
  const run = await guarded({ hooks: [again], answer: () => ({ text: 'Done.' }) })
  expect(run.requests).toHaveLength(4)
  expect(run.requests[1]).toContain('Once more.')
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=548, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
        hook.again OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
        hook.again OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
        hook.again OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
      hook.again OK"
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
    if (guards === 'closed') expect(run.requests.at(-1)).toContain('hookspan could not ask the hooks')
  })
}

scene('a child agent is guarded, too', ['beforeTool block'], async () => {
  const namespace = 'multi_agent_v1'
  const run = await guarded({
    hooks: [noRm],
    answer: ({ prompt, toolResults, lastToolResults }) => {
      if (prompt.includes('child task'))
        return toolResults === 0 ? { toolCalls: [shell('rm kept.txt', 'call_C')] } : { text: 'It stays.' }
      const task = { message: 'do the child task', agent_type: 'default' }
      if (toolResults === 0) return { toolCalls: [{ name: 'spawn_agent', namespace, arguments: task, id: 'call_S' }] }
      if (toolResults > 1) return { text: 'Done.' }
      const targets = [/"agent_id":"([^"]+)"/.exec(lastToolResults[0]?.text ?? '')?.[1]]
      const wait = { targets, timeout_ms: 20_000 }
      return { toolCalls: [{ name: 'wait_agent', namespace, arguments: wait, id: 'call_W' }] }
    },
  })
  expect(run.has('kept.txt')).toBe(true)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=411, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.spawn_agent OK [hermes.tool.outcome=completed]
            subagent.default OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
                    tool.Bash OK [hermes.tool.outcome=blocked]
                      hook.no-rm OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.multi_agent_v1wait_agent OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('guards: each decision that the table of Codex claims was seen', () => {
  expect([...claimed].sort()).toEqual(claims(codexGuardProtocol.capabilities))
})
