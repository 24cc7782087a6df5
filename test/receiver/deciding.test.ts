import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { GuardProtocol } from '../../src/agents/guard-protocol.ts'
import type { HostEvent } from '../../src/agents/host-event.ts'
import type { ReceiverAdapter } from '../../src/agents/receiver-adapter.ts'
import { numberOf, peek } from '../../src/contract/foreign.ts'
import { type AnyHook, ask, block, createHooks, defineHook, inject, retry } from '../../src/guards/index.ts'
import { HookDecisions } from '../../src/receiver/hook-decisions.ts'
import type { ReceiverServer } from '../../src/receiver/receiver.ts'
import { setReply } from '../../src/receiver/request-handler.ts'
import type { LoadedHookSet, StartReceiverOptions } from '../../src/receiver/start.ts'
import { until } from '../support/until.ts'
import { type Answer, type Asked, Scene } from './scene.ts'

const TOOL = {
  session_id: 's',
  prompt_id: 'p',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_use_id: 't',
  tool_input: { command: 'rm x' },
}
const STOP = { session_id: 's', prompt_id: 'p', hook_event_name: 'Stop', stop_hook_active: true }
const DENIED = (reason: string): object => ({
  hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: reason },
})
const NOTHING = { status: 204, text: '' }

const events: ReceiverAdapter['events'] = ({ body, at }) => [
  { event: String((body as { hook_event_name: unknown }).hook_event_name), at, data: body } as HostEvent,
]

interface Guarded extends Partial<StartReceiverOptions> {
  readonly hooks?: readonly AnyHook[]
  readonly found?: Partial<LoadedHookSet>
  readonly adapter?: ReceiverAdapter
}

/** A receiver with hooks, and what of an agent comes to it. */
class GuardedScene extends Scene {
  async guarded({ hooks, found, adapter = { events }, ...options }: Guarded): Promise<ReceiverServer> {
    const whole = { hooks: hooks && createHooks(hooks), lines: [], close: () => undefined, ...found }
    return this.start({
      endpoints: { '/claude-code': { host: 'claude-code', adapter } },
      loadHooks: () => Promise.resolve(whole),
      ...options,
    })
  }

  async asks(
    receiver: ReceiverServer,
    body: unknown = TOOL,
    failing: string | null = 'open',
    asked: Asked = {},
  ): Promise<Answer> {
    const headers = failing === null ? {} : { 'x-hookspan-decide': failing }
    return this.ask(receiver, '/claude-code', { headers, body: JSON.stringify(body), ...asked })
  }
}

const noRm = defineHook({
  name: 'no-rm',
  priority: 10,
  onFailure: 'block',
  beforeTool: ({ tool }) => (tool.command?.startsWith('rm ') ? block('Not that.') : undefined),
})

test('answers with the decision of a hook, and records it after the event', async () => {
  const scene = new GuardedScene()
  const receiver = await scene.guarded({ hooks: [noRm] })
  const { status, headers, text } = await scene.asks(receiver)
  expect([status, headers['content-type'], JSON.parse(text)]).toEqual([200, 'application/json', DENIED('Not that.')])
  await until(() => scene.recorder.told.length === 3)
  expect(scene.recorder.names).toEqual(['PreToolUse', 'hookspan:pre_control_hook', 'hookspan:post_control_hook'])
  expect(scene.recorder.told.map(({ host }) => host)).toEqual(['claude-code', 'claude-code', 'claude-code'])
  expect(scene.recorder.told[2]?.event.data).toMatchObject({
    session_id: 's',
    turn_id: 'p',
    tool_call_id: 't',
    hook_name: 'no-rm',
    verdict: 'block',
    action: 'blocked',
  })
})

test('answers without a body if no hook objects', async () => {
  const scene = new GuardedScene()
  const receiver = await scene.guarded({ hooks: [noRm] })
  expect(await scene.asks(receiver, { ...TOOL, tool_input: { command: 'ls' } })).toMatchObject(NOTHING)
  expect(await scene.asks(receiver, { ...TOOL, hook_event_name: 'PostToolUse' })).toMatchObject(NOTHING)
  expect(await scene.asks(receiver, { ...TOOL, hook_event_name: 'Notification' })).toMatchObject(NOTHING)
})

test('records an event while a hook runs, and answers others', async () => {
  const scene = new GuardedScene()
  let decide: (() => void) | undefined
  const slow = defineHook({
    name: 'slow',
    beforeTool: async () => {
      await new Promise<void>(resolve => {
        decide = resolve
      })
      return block('At last.')
    },
  })
  const receiver = await scene.guarded({ hooks: [slow] })
  const answer = scene.asks(receiver)
  await until(() => scene.recorder.names.includes('PreToolUse') && decide !== undefined)
  expect(await scene.asks(receiver, STOP)).toMatchObject(NOTHING)
  expect(scene.recorder.names).not.toContain('hookspan:pre_control_hook')
  decide?.()
  await answer
})

test('records a decision after the event it is about, however late that is', async () => {
  const scene = new GuardedScene()
  let read: (() => void) | undefined
  const more = (): Promise<readonly HostEvent[]> =>
    new Promise(resolve => {
      read = () => resolve([{ event: 'transcript:read' }])
    })
  const receiver = await scene.guarded({ hooks: [noRm], adapter: { events, enrich: more } })
  const { status } = await scene.asks(receiver, { ...TOOL, agent_id: 'child' })
  expect(status).toBe(200)
  await until(() => read !== undefined)
  expect(scene.recorder.names).toEqual(['PreToolUse'])
  read?.()
  await until(() => scene.recorder.told.length === 4)
  expect(scene.recorder.names.slice(1)).toEqual([
    'transcript:read',
    'hookspan:pre_control_hook',
    'hookspan:post_control_hook',
  ])
})

const hanging = (onFailure: 'pass' | 'block'): AnyHook =>
  defineHook({ name: 'hangs', onFailure, timeLimitMillis: 5, beforeTool: () => new Promise(() => undefined) })
const throwing = (onFailure: 'pass' | 'block'): AnyHook =>
  defineHook({
    name: 'throws',
    onFailure,
    beforeTool: () => {
      throw new Error('broken')
    },
  })

test.each([
  ['hangs', hanging],
  ['throws', throwing],
] as const)('applies the answer of a hook that %s', async (name, hook) => {
  const [open, closed] = [new GuardedScene(), new GuardedScene()]
  expect(await open.asks(await open.guarded({ hooks: [hook('pass')] }))).toMatchObject(NOTHING)
  const { text } = await closed.asks(await closed.guarded({ hooks: [hook('block')] }))
  expect(JSON.parse(text)).toEqual(DENIED(`The hook ${name} failed to check this, and is set to block on failure.`))
  expect(open.lines.join('\n')).toContain(`hook ${name} failed in beforeTool, which counts as pass`)
})

describe('a client that waits for no answer', () => {
  test('gets none, and the user one line', async () => {
    const scene = new GuardedScene()
    const receiver = await scene.guarded({ hooks: [noRm] })
    for (let turn = 0; turn < 2; turn++) expect(await scene.asks(receiver, TOOL, null)).toMatchObject(NOTHING)
    expect(scene.lines.filter(line => line.includes('--guards'))).toEqual([
      'there are guards, and claude-code does not wait for their decisions: "hookspan init claude-code --guards open" has it wait',
    ])
    expect(scene.recorder.names).toEqual(['PreToolUse', 'PreToolUse'])
  })

  test('is not recorded for a prompt, which is sent a second time', async () => {
    const scene = new GuardedScene()
    const quiet = defineHook({ name: 'quiet', beforeTurn: () => block('No.') })
    const receiver = await scene.guarded({ hooks: [quiet] })
    const prompt = { ...TOOL, hook_event_name: 'UserPromptSubmit', prompt: 'Go' }
    expect(await scene.asks(receiver, prompt, null)).toMatchObject(NOTHING)
    expect(await scene.asks(receiver, prompt, 'whatever')).toMatchObject(NOTHING)
    expect(scene.lines).toEqual([])
  })
})

test.each<[string, object, Asked, number]>([
  ['one who does not know the token', TOOL, { token: 'f'.repeat(64) }, 401],
  ['too much', { ...TOOL, tool_input: { command: 'x'.repeat(2000) } }, {}, 413],
  ['two at once', TOOL, { body: `${JSON.stringify(TOOL)}\n${JSON.stringify(TOOL)}\n` }, 204],
])('runs no hooks for it: %s', async (_, body, asked, status) => {
  const scene = new GuardedScene()
  let times = 0
  const counts = defineHook({
    name: 'counts',
    beforeTool: () => {
      times += 1
    },
  })
  const receiver = await scene.guarded({ hooks: [counts], limits: { bodyBytes: 1000 } })
  expect((await scene.asks(receiver, body, 'open', asked)).status).toBe(status)
  expect(times).toBe(0)
})

test.each<[string, Partial<StartReceiverOptions>]>([
  ['no loader', { loadHooks: undefined }],
  ['there are none', { loadHooks: () => Promise.resolve(undefined) }],
])('has no answer without hooks, even with closed guards: %s', async (_, options) => {
  const scene = new GuardedScene()
  const receiver = await scene.guarded(options)
  expect(await scene.asks(receiver, TOOL, 'closed')).toMatchObject(NOTHING)
  expect(scene.lines).toEqual([])
})

const CLOSED = 'hookspan could not ask the hooks that guard this agent, which is set up to do nothing then.'

describe('partly missing hooks', () => {
  const WHY: Record<string, Partial<StartReceiverOptions>> = {
    'one of them is broken': {
      loadHooks: () => Promise.resolve({ hooks: createHooks([noRm]), lines: ['hooks: a.mjs'], close: () => undefined }),
    },
    'they cannot be loaded': { loadHooks: () => Promise.reject(new Error('hooks: a.mjs')) },
    'they are never loaded': { loadHooks: () => new Promise(() => undefined), loadMillis: 5 },
  }

  test.each(Object.entries(WHY))('closes guarded steps: %s', async (_, options) => {
    const scene = new GuardedScene()
    const receiver = await scene.guarded(options)
    const harmless = { ...TOOL, tool_input: { command: 'ls' } }
    expect(JSON.parse((await scene.asks(receiver, harmless, 'closed')).text)).toEqual(DENIED(CLOSED))
    expect(await scene.asks(receiver, harmless, 'open')).toMatchObject(NOTHING)
    expect(await scene.asks(receiver, STOP, 'closed')).toMatchObject(NOTHING)
    expect(scene.lines[0]).toMatch(/hooks: (a\.mjs|they)/)
    expect(scene.lines[1]).toMatch(/--guards closed do nothing until then/)
  })

  test('runs the others if open', async () => {
    const scene = new GuardedScene()
    const receiver = await scene.guarded({ hooks: [noRm], found: { lines: ['hooks: b.mjs is broken'] } })
    expect(JSON.parse((await scene.asks(receiver)).text)).toEqual(DENIED('Not that.'))
  })
})

describe('a configuration', () => {
  const start = (scene: GuardedScene, yaml: string, found?: LoadedHookSet): Promise<ReceiverServer> => {
    const folder = join(scene.home, '.config', 'hookspan')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'config.yaml'), yaml, { mode: 0o600 })
    return scene.guarded({ loadHooks: () => Promise.resolve(found) })
  }
  const GUARDED = 'hooks: {global_dir: /srv/hooks, options: {guard: {required: true}}}\n'

  test.each<[string, string, RegExp]>([
    ['cannot be read', `${GUARDED}sample_rate:\t[\n`, /^config: .*config\.yaml: .*; no file is read/],
    [
      'says what hooks cannot be',
      'hooks: {global_dir: relative}\n',
      /^config: hooks\.global_dir: expected an absolute/,
    ],
  ])('closes guarded steps if it %s', async (_, yaml, line) => {
    const scene = new GuardedScene()
    const receiver = await start(scene, yaml)
    expect(JSON.parse((await scene.asks(receiver, TOOL, 'closed')).text)).toEqual(DENIED(CLOSED))
    expect(await scene.asks(receiver, TOOL, 'open')).toMatchObject(NOTHING)
    expect(await scene.asks(receiver, TOOL, null)).toMatchObject(NOTHING)
    expect(scene.lines).toEqual([expect.stringMatching(line), expect.stringMatching(/--guards closed do nothing/)])
  })

  test('leaves loaded hooks in place if it cannot be read', async () => {
    const scene = new GuardedScene()
    const found = { hooks: createHooks([noRm]), lines: [], close: () => undefined }
    const receiver = await start(scene, 'a:\t[\n', found)
    expect(JSON.parse((await scene.asks(receiver)).text)).toEqual(DENIED('Not that.'))
    expect(JSON.parse((await scene.asks(receiver, TOOL, 'closed')).text)).toEqual(DENIED(CLOSED))
  })

  test('closes nothing if it is wrong elsewhere', async () => {
    const scene = new GuardedScene()
    const receiver = await start(scene, 'sample_rate: soon\n')
    expect(await scene.asks(receiver, TOOL, 'closed')).toMatchObject(NOTHING)
    expect(scene.lines).toEqual([])
  })
})

test('closes the hooks with the receiver', async () => {
  const scene = new GuardedScene()
  let isClosed = false
  const close = (): void => {
    isClosed = true
  }
  const receiver = await scene.guarded({ hooks: [noRm], found: { close } })
  await receiver.stop()
  await until(() => isClosed)
})

test('retries a turn three times, although its agent does not count', async () => {
  const scene = new GuardedScene()
  const again = defineHook({ name: 'again', decisions: ['retry'], afterTurn: () => retry({ feedback: 'Again.' }) })
  const receiver = await scene.guarded({ hooks: [again] })
  const answers: number[] = []
  for (const stop_hook_active of [false, true, true, true, false]) {
    answers.push((await scene.asks(receiver, { ...STOP, stop_hook_active })).status)
  }
  // The fifth is that of another pass of the same prompt.
  expect(answers).toEqual([200, 200, 200, 204, 200])
})

test('keeps the state of a turn, and emits its counts at its end', async () => {
  const scene = new GuardedScene()
  const seen: unknown[] = []
  const counts = defineHook({
    name: 'counts',
    beforeTool: (_, { state }) => {
      state['calls'] = Number(state['calls'] ?? 0) + 1
      seen.push(state['calls'])
    },
  })
  const receiver = await scene.guarded({ hooks: [counts] })
  for (const body of [TOOL, TOOL, STOP, TOOL, { ...TOOL, prompt_id: 'other' }]) await scene.asks(receiver, body)
  expect(seen).toEqual([1, 2, 1, 1])
  const runs = () => scene.recorder.told.filter(({ event }) => event.event === 'hookspan:post_control_hook')
  // A pass that took longer than a fast one, on a busy machine, is emitted by itself.
  const passes = () => runs().reduce((sum, { event }) => sum + (numberOf(peek(event.data, 'count')) ?? 1), 0)
  await until(() => passes() >= 2)
  for (const { event } of runs())
    expect(event.data).toMatchObject({ hook_name: 'counts', verdict: 'pass', turn_id: 'p' })
})

test('runs hooks while another receiver takes over', async () => {
  const scene = new GuardedScene()
  const receiver = await scene.guarded({ hooks: [noRm] })
  const body = JSON.stringify({ version: '2.0.0' })
  expect((await scene.ask(receiver, '/v1/replace', { body })).status).toBe(200)
  expect(JSON.parse((await scene.asks(receiver)).text)).toEqual(DENIED('Not that.'))
  expect(scene.spooled).toHaveLength(1)
  expect(scene.recorder.told).toEqual([])
})

describe('an agent with an unreadable question', () => {
  const broken: GuardProtocol = {
    capabilities: { beforeTool: ['block', 'ask', 'inject'] },
    requestIn: () => {
      throw new TypeError('unreadable')
    },
    reply: () => ({}),
    failClosedReply: (_, error) => ({ exitCode: 2, error }),
    isEndOfTurn: () => false,
  }
  const trace = { recordEvent: () => undefined, traceparent: () => undefined }
  const about = { host: 'odd', told: 'odd', lane: 'odd', body: TOOL }

  test('gets the agreed answer, and the user one line', async () => {
    const lines: string[] = []
    const say = (line: string): void => void lines.push(line)
    const hooks = createHooks([noRm])
    const deciding = new HookDecisions({ hooks, isComplete: true, trace, report: say, guards: { odd: broken } })
    expect(await deciding.decide({ ...about, failing: 'open' })).toBeUndefined()
    expect(await deciding.decide({ ...about, failing: 'closed' })).toEqual({ exitCode: 2, error: CLOSED })
    expect(lines).toEqual(['odd: its question to the guards could not be read (a TypeError); they did not run'])
  })

  test('closes the same way if a decision cannot be recorded', async () => {
    const requestIn: GuardProtocol['requestIn'] = () => ({ phase: 'beforeTurn', ids: {}, event: { prompt: 'Go' } })
    const odd: GuardProtocol = {
      ...broken,
      capabilities: { beforeTurn: ['inject'] },
      requestIn,
      reply: broken.requestIn as never,
    }
    const says = defineHook({ name: 'says', decisions: ['inject'], beforeTurn: () => inject('a line') })
    const hooks = createHooks([says])
    const deciding = new HookDecisions({ hooks, isComplete: true, trace, report: () => undefined, guards: { odd } })
    expect(await deciding.decide({ ...about, failing: 'open' })).toBeUndefined()
    expect(await deciding.decide({ ...about, failing: 'closed' })).toEqual({ exitCode: 2, error: CLOSED })
  })

  test('ignores an agent without guards', () => {
    const deciding = new HookDecisions({ hooks: createHooks([noRm]), isComplete: true, trace, report: () => undefined })
    expect(deciding.decide({ ...about, host: 'toString', failing: 'closed' })).toBeUndefined()
  })
})

test('uses the traceparent of the turn if the tool is not recorded yet', async () => {
  const seen: unknown[] = []
  const looks = defineHook({ name: 'looks', beforeTool: (_, { traceparent }) => void seen.push(traceparent) })
  const asked: object[] = []
  const traceparent = (_: string, ids: object): string | undefined => {
    asked.push(ids)
    return 'tool_call_id' in ids ? undefined : '00-1-2-01'
  }
  const trace = { recordEvent: () => undefined, traceparent }
  const deciding = new HookDecisions({ hooks: createHooks([looks]), isComplete: true, trace, report: () => undefined })
  await deciding.decide({ host: 'claude-code', recordedHost: 'claude-code', lane: 'l', body: TOOL, failing: 'open' })
  expect(seen).toEqual(['00-1-2-01'])
  expect(asked).toEqual([
    { session_id: 's', turn_id: 'p', tool_call_id: 't' },
    { session_id: 's', turn_id: 'p' },
  ])
})

test('sends the exit code and the error of a command as headers', () => {
  const headers: Record<string, unknown> = {}
  const response = { setHeader: (name: string, value: unknown) => (headers[name] = value) }
  const text = setReply(response as never, { exitCode: 2, error: 'Ünless\nasked', body: { a: 1 } })
  expect(text).toBe('{"a":1}')
  expect(headers['x-hookspan-exit']).toBe(2)
  expect(Buffer.from(String(headers['x-hookspan-error']), 'base64url').toString()).toBe('Ünless\nasked')
  expect(setReply(response as never, undefined)).toBeUndefined()
})

test('reports a decision that the host does not support once, at the first question', async () => {
  const scene = new GuardedScene()
  const careful = defineHook({
    name: 'careful',
    decisions: ['ask'],
    beforeModel: () => undefined,
    beforeTool: () => ask('?'),
  })
  const receiver = await scene.guarded({ hooks: [careful] })
  expect(scene.lines).toEqual([])
  for (let turn = 0; turn < 2; turn++) await scene.asks(receiver)
  expect(scene.lines.filter(line => line.includes('never runs in beforeModel'))).toHaveLength(1)
})

test('closes the guards if the receiver cannot listen', async () => {
  const { port } = (await new Scene().start()).address
  let closed = 0
  const loadHooks = () => Promise.resolve({ hooks: createHooks([noRm]), lines: [], close: () => void closed++ })
  await expect(new Scene().begin({ port: port as number, loadHooks })).rejects.toThrow(/^port \d+ cannot be used/)
  expect(closed).toBe(1)
})
