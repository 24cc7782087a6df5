import { expect, test } from 'vitest'
import type { Outcome } from '../../src/guards/chain.ts'
import { type ControlHooks, createHooks } from '../../src/guards/create-hooks.ts'
import type { AnyHook } from '../../src/guards/hook.ts'
import { toolCallOf } from '../../src/guards/tool-call.ts'
import { about, HooksScene, plain } from './hooks-scene.ts'

/** Does as it is told by the command. */
const OBEDIENT = `
let calls = 0
export default options => ({
  name: 'obedient',
  decisions: ['block', 'rewrite'],
  onFailure: 'block',
  timeLimitMillis: options.limit,
  async beforeTool({ tool }, ctx) {
    calls++
    switch (tool.command) {
      case 'loop': while (true) {}
      case 'eat': for (const held = [];;) held.push(new Array(1e6).fill(calls))
      case 'exit': process.exit(0)
      case 'throw': throw new Error('thrown')
      case 'function': return { decision: 'block', reason: 'x', metadata: { f() {} } }
      case 'count': return { decision: 'block', reason: 'call ' + calls, detail: ctx.host + ' ' + ctx.sessionId }
      case 'state': ctx.state.seen = (ctx.state.seen ?? 0) + 1; return
      case 'log': ctx.logger.warn('from the thread'); return
      case 'frozen': tool.arguments.command = 'changed'; return
      case 'rewrite': return { decision: 'rewrite', value: { command: 'ls' } }
      case 'wait': await new Promise(done => ctx.signal.addEventListener('abort', done)); return
    }
  },
})
`

async function isolated(limit?: number): Promise<ControlHooks> {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'obedient.mjs': OBEDIENT })
  const { hooks, lines, loaded } = await scene.load({ options: { obedient: { isolate: true, limit } } })
  expect(lines).toEqual([])
  expect(loaded[0]).toMatchObject({ isIsolated: true })
  return hooks!
}

function ask(hooks: ControlHooks, command: string, asked = about()): Promise<Outcome<'beforeTool'>> {
  return Promise.resolve(hooks.run('beforeTool', { tool: toolCallOf({ name: 'bash', arguments: { command } }) }, asked))
}

/** Until the new thread is there: on a busy machine that may take longer than a hook has. */
async function askUntilAnswered(hooks: ControlHooks, command: string): Promise<Outcome<'beforeTool'>> {
  for (;;) {
    const outcome = await ask(hooks, command)
    if (outcome.runs[0]?.verdict !== 'failed') return outcome
  }
}

test('returns the same decisions from a thread', async () => {
  const hooks = await isolated()
  expect(hooks.hooks).toEqual([
    {
      name: 'obedient',
      priority: 200,
      phases: ['beforeTool'],
      decisions: ['block', 'rewrite'],
      decisionsByPhase: { beforeTool: ['block', 'rewrite'] },
      onFailure: 'block',
      isFailurePolicyDefault: false,
    },
  ])
  expect(await ask(hooks, 'pass')).toMatchObject({ decision: 'pass', isRewritten: false })
  expect(await ask(hooks, 'count')).toMatchObject({ decision: 'block', reason: 'call 2', detail: 'test s' })
  expect(await ask(hooks, 'rewrite')).toMatchObject({ decision: 'pass', value: { command: 'ls' } })
})

test('passes state and log lines between thread and agent', async () => {
  const hooks = await isolated()
  const said: string[] = []
  const asked = about(said)
  Object.assign(asked.state, { own: () => 'stays here' })
  await ask(hooks, 'state', asked)
  await ask(hooks, 'state', asked)
  expect(asked.state).toMatchObject({ seen: 2, own: expect.any(Function) })
  await ask(hooks, 'log', asked)
  expect(said).toEqual(['from the thread'])
})

test('does not reset state changed meanwhile', async () => {
  const hooks = await isolated()
  const asked = about()
  Object.assign(asked.state, { seen: 1, calls: { made: 1 } })
  const answered = ask(hooks, 'state', asked)
  Object.assign(asked.state, { calls: { made: 2 } })
  await answered
  expect(asked.state).toEqual({ seen: 2, calls: { made: 2 } })
})

const REMEMBERING = `
import { budget, loopGuard } from 'hookspan/hooks/builtin'
export default () => [loopGuard({ repeats: 1 }), budget({ turn: { toolCalls: 3 } })]
`

test("keeps a hook's memory of a turn for its next call, and not in another turn", async () => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'g.mjs': REMEMBERING })
  const { hooks, lines } = await scene.load({ options: { g: { isolate: true } } })
  expect(lines).toEqual([])
  const turn = about()
  const said: unknown[] = []
  for (const command of ['ls', 'ls', 'pwd', 'id', 'df']) said.push((await ask(hooks!, command, turn)).by ?? 'pass')
  expect(said).toEqual(['pass', 'loop-guard', 'pass', 'pass', 'budget'])
  expect(await ask(hooks!, 'ls')).toMatchObject({ decision: 'pass' })
  expect(await ask(hooks!, 'ls', turn)).toMatchObject({ decision: 'block' })
})

test.each([
  ['throw', 'thrown'],
  ['frozen', /read only|not extensible|Cannot assign/],
  ['function', /could not be cloned/],
  ['exit', 'its thread ended'],
  ['eat', /its thread ended: .*memory/],
])('counts a failure, and answers the next call: %s', async (command, message) => {
  const hooks = await isolated()
  const outcome = await ask(hooks, command)
  expect(outcome).toMatchObject({ decision: 'block', by: 'obedient', runs: [{ failure: 'threw' }] })
  expect(outcome.runs[0]?.failureMessage).toMatch(message)
  expect(await ask(hooks, 'rewrite')).toMatchObject({ decision: 'pass', isRewritten: true })
})

test('terminates an endless loop, and answers the next call from a new thread', async () => {
  const hooks = await isolated(300)
  await askUntilAnswered(hooks, 'count')
  const outcome = await ask(hooks, 'loop')
  expect(outcome).toMatchObject({ decision: 'block', by: 'obedient', runs: [{ failure: 'timed_out' }] })
  // It counts from the beginning: it is another thread.
  expect((await askUntilAnswered(hooks, 'count')).reason).toMatch(/^call \d+$/)
})

test('informs each waiting caller when a thread ends', async () => {
  const hooks = await isolated(300)
  const [loop, other] = await Promise.all([ask(hooks, 'loop'), ask(hooks, 'count')])
  expect(loop.runs[0]?.failure).toBe('timed_out')
  expect(other).toMatchObject({ decision: 'block', runs: [{ verdict: 'failed' }] })
})

test('aborts the hook of a stopped agent, and keeps its thread', async () => {
  const hooks = await isolated()
  expect((await ask(hooks, 'count')).reason).toBe('call 1')
  const controller = new AbortController()
  const waiting = ask(hooks, 'wait', { ...about(), signal: controller.signal })
  controller.abort()
  await waiting
  expect((await ask(hooks, 'count')).reason).toBe('call 3')
})

test.each([
  ['export default 5\n', /a hook is an object with a name; it is left out/],
  ["throw new Error('no luck')\n", /is not loaded: no luck; fix it/],
  ['\n\nexport default {{\n', /is not loaded: Unexpected token '\{' \(node --check says where\); fix it/],
  ['process.exit(3)\n', /is not loaded: its thread ended; fix it/],
])('reports code that cannot be loaded into a thread: %s', async (text, line) => {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, { 'a.mjs': text })
  const { hooks, lines } = await scene.load({ options: { a: { isolate: true } } })
  expect(hooks).toBeUndefined()
  expect(plain(lines, scene)).toEqual([expect.stringMatching(line)])
})

test('distinguishes a timeout from a stopped agent', async () => {
  const reasons: string[] = []
  const hook: AnyHook = {
    name: 'waiting',
    timeLimitMillis: 1,
    beforeTool: (_, { signal }) =>
      new Promise(done => {
        signal.addEventListener('abort', () => {
          reasons.push((signal.reason as Error).name)
          done(undefined)
        })
      }),
  }
  await ask(createHooks([hook]), 'x')
  const controller = new AbortController()
  const stopped = ask(createHooks([{ ...hook, timeLimitMillis: undefined }]), 'x', {
    ...about(),
    signal: controller.signal,
  })
  controller.abort()
  await stopped
  expect(reasons).toEqual(['TimeoutError', 'AbortError'])
})
