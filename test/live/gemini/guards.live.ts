import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { geminiGuardProtocol } from '../../../src/agents/gemini/guard-protocol.ts'
import { GeminiAdapter } from '../../../src/agents/gemini/receiver-adapter.ts'
import { type AnyHook, ask, block, defineHook, inject, retry, rewrite } from '../../../src/guards/index.ts'
import { type Claim, claims, GuardedReceiver } from '../guarded-receiver.ts'
import { writeJson } from '../hook-recorder.ts'
import { hookspanFolder, hostNode, runHost, scratchHome, scratchProject } from '../live-host.ts'
import { SETTINGS, startGemini } from './gemini.ts'
import { GeminiModel, type GeminiReply, type GeminiRequest } from './gemini-model.ts'

interface Scene {
  readonly hooks: readonly AnyHook[]
  readonly guards?: 'open' | 'closed'
  answer(request: GeminiRequest, receiver: GuardedReceiver): GeminiReply | Promise<GeminiReply>
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

async function guarded({ hooks, guards = 'open', answer }: Scene): Promise<Run> {
  const home = scratchHome()
  const project = scratchProject(home, { files: { 'kept.txt': 'x' } })
  writeJson(join(home, '.gemini', 'settings.json'), SETTINGS)
  const adapter = new GeminiAdapter({
    place: { folders: [join(home, '.gemini')], uid: process.getuid?.() },
    wait: async () => undefined,
  })
  const receiver = await GuardedReceiver.start({ home, host: 'gemini', adapter, hooks, guards })
  const model = new GeminiModel(request => answer(request, receiver))
  const url = await model.start()
  try {
    const { stdout, stderr } = await startGemini(['--yolo', '-p', 'Go'], { home, cwd: project, url }).end()
    return {
      said: `${stdout}\n${stderr}`,
      requests: model.bodies.map(({ contents }) => JSON.stringify(contents)),
      has: file => existsSync(join(project, file)),
      tree: (await receiver.traces()).tree,
      lines: receiver.lines,
    }
  } finally {
    await receiver.stop()
    await model.stop()
    // Where ours had ended, another one has been started.
    await runHost(hostNode(), [join(hookspanFolder(), 'dist', 'cli', 'main.js'), 'serve', '--stop'], { home })
  }
}

const claimed = new Set<Claim>()

/** @param shows what of the table of Gemini CLI it shows */
function scene(name: string, shows: readonly Claim[], run: () => Promise<void>): void {
  for (const claim of shows) claimed.add(claim)
  test(`guards: ${name}`, run)
}

const once =
  (command: string) =>
  ({ results }: GeminiRequest): GeminiReply =>
    results > 0 ? { text: 'Done.' } : { calls: [{ name: 'run_shell_command', args: { command, description: 'it' } }] }

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
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.gemini-2.5-flash OK
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.run_shell_command OK (inferred) [hermes.tool.outcome=blocked]
            hook.no-rm OK
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

scene(
  'a guard rewrites a command: what runs is the rewritten one, and it is one call',
  ['beforeTool rewrite'],
  async () => {
    const elsewhere = defineHook({
      name: 'elsewhere',
      decisions: ['rewrite'],
      // An argument that is gone is gone.
      beforeTool: ({ tool }) => rewrite({ command: tool.command?.replace('one', 'two') }),
    })
    const seen: unknown[] = []
    const sees = defineHook({
      name: 'sees',
      afterTool: ({ tool }) => void seen.push(tool.arguments),
    })
    const run = await guarded({ hooks: [elsewhere, sees], answer: once('touch one.txt') })
    expect([run.has('one.txt'), run.has('two.txt')]).toEqual([false, true])
    expect(seen).toEqual([{ command: 'touch two.txt' }])
    expect(run.tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
        llm.gemini-2.5-flash OK
          api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
            tool.run_shell_command OK (inferred) [hermes.tool.outcome=completed]
              hook.elsewhere OK
          api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
    `)
  },
)

scene('lines are injected beside the prompt and a result', ['beforeTurn inject', 'afterTool inject'], async () => {
  const says = defineHook({
    name: 'says',
    decisions: ['inject'],
    beforeTurn: () => inject('LINE-OF-THE-TURN'),
    afterTool: () => inject('LINE-BEHIND-THE-TOOL'),
  })
  const run = await guarded({ hooks: [says], answer: once('echo hi') })
  expect(run.requests[0]).toContain('LINE-OF-THE-TURN')
  expect(run.requests[1]).toContain('LINE-BEHIND-THE-TOOL')
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.gemini-2.5-flash OK
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.run_shell_command OK (inferred) [hermes.tool.outcome=completed]
            hook.says OK
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
      hook.says OK"
  `)
})

scene(
  'a request is sent with other texts, and with a line behind them',
  ['beforeModel rewrite', 'beforeModel inject'],
  async () => {
    const masks = defineHook({
      name: 'masks',
      decisions: ['rewrite', 'inject'],
      beforeModel: ({ messages }) => rewrite(messages.map(one => ({ ...one, text: one.text.replace('Go', 'COME') }))),
    })
    const says = defineHook({ name: 'says', decisions: ['inject'], beforeModel: () => inject('<a line>') })
    const run = await guarded({ hooks: [masks, says], answer: () => ({ text: 'Done.' }) })
    expect(run.requests).toHaveLength(1)
    expect(run.requests[0]).toMatch(/COME"}.*<a line>/)
    expect(run.tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
        llm.gemini-2.5-flash OK
          api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
        hook.masks OK
        hook.says OK"
    `)
  },
)

scene('a request is not sent: the reason is the answer', ['beforeModel block'], async () => {
  const enough = defineHook({ name: 'enough', beforeModel: () => block('That was enough.') })
  const run = await guarded({ hooks: [enough], answer: () => ({ text: 'Hello.' }) })
  expect(run.requests).toEqual([])
  expect(run.said).toContain('That was enough.')
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm OK
        api.error OK [gen_ai.response.finish_reason=aborted]
      hook.enough OK"
  `)
})

scene('nobody is asked: the tool does not run, and the model is told why', [], async () => {
  const careful = defineHook({ name: 'careful', decisions: ['ask'], beforeTool: () => ask('Shall this run?') })
  const run = await guarded({ hooks: [careful], answer: once('touch one.txt') })
  expect(run.has('one.txt')).toBe(false)
  expect(run.requests.at(-1)).toContain('Shall this run?')
  expect(run.lines.join('\n')).toContain('hook careful cannot ask in beforeTool of gemini: it blocks instead')
})

scene('a result is withheld: the model has the reason in its place', ['afterTool block'], async () => {
  const secret = defineHook({ name: 'secret', afterTool: () => block('That is nobody’s business.') })
  const run = await guarded({ hooks: [secret], answer: once('echo the-$((6*7))') })
  expect(run.requests[1]).toContain('That is nobody’s business.')
  expect(run.requests[1]).not.toContain('the-42')
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.gemini-2.5-flash OK
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.run_shell_command OK (inferred) [hermes.tool.outcome=completed]
            hook.secret OK
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

scene('a prompt is blocked: the model is not asked', ['beforeTurn block'], async () => {
  const quiet = defineHook({ name: 'quiet', beforeTurn: () => block('Not today.') })
  const run = await guarded({ hooks: [quiet], answer: () => ({ text: 'Hello.' }) })
  expect(run.requests).toEqual([])
  expect(run.said).toContain('Not today.')
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=finalized]
      llm UNSET (incomplete: turn_ended)
      hook.quiet OK"
  `)
})

scene('a turn is sent on, and not for ever, also where tools run meanwhile', ['afterTurn retry'], async () => {
  const again = defineHook({ name: 'again', decisions: ['retry'], afterTurn: () => retry({ feedback: 'Once more.' }) })
  let commands = 0
  const answer = (request: GeminiRequest): GeminiReply =>
    once(`echo ${request.results > 0 ? commands : ++commands}`)(request)
  const run = await guarded({ hooks: [again], answer })
  expect(run.requests).toHaveLength(8)
  expect(run.requests[2]).toContain('Once more.')
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
    if (guards === 'closed') expect(run.said).toContain('hookspan could not ask the hooks')
  })
}

test('guards: each decision that the table of Gemini CLI claims was seen', () => {
  expect([...claimed].sort()).toEqual(claims(geminiGuardProtocol.capabilities))
})
