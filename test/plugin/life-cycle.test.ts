import { readFileSync } from 'node:fs'
import { ProxyTracerProvider, type Span } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  HOOK_NAMES,
  type HookHandler,
  type Logger,
  type Plugin,
  type PluginOptions,
  register,
} from '../../src/index.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { ending, filesBelow, scratchHome, scratchPlugin, tellTurn } from './scratch-plugin.ts'

const QUIET: PluginOptions = { local_log: false, force_flush_wait_ms: 50 }
const TURN = ['tool.terminal', 'llm.qwen3', 'agent']

let home = ''
let lines: string[] = []
const logger: Logger = { error: line => lines.push(line), warn: line => lines.push(line) }

beforeEach(() => {
  home = scratchHome()
  lines = []
  for (const name of ['HOME', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME']) vi.stubEnv(name, home)
})

afterEach(() => vi.unstubAllEnvs())

function recorded(): { tracerProvider: BasicTracerProvider; names: () => string[] } {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  return { tracerProvider, names: () => exporter.getFinishedSpans().map(span => span.name) }
}

/** A host that fires hooks, and cannot be told to stop. */
function firing(takes: (name: string) => boolean = () => true) {
  const handlers: [string, HookHandler][] = []
  const registerHook = (name: string, handler: HookHandler): void => {
    if (!takes(name)) throw new Error(`unknown hook ${name}`)
    handlers.push([name, handler])
  }
  const fire = (name: string, payload: object): void => {
    for (const [hook, handler] of handlers) if (hook === name) void handler(payload)
  }
  return { context: { registerHook }, fire, subscribed: () => handlers.length }
}

function registered(context: object, options: PluginOptions = QUIET): Plugin {
  return ending(register(context, { logger, ...options }))
}

describe('register, shut down, register', () => {
  test.each<[string, (plugin: Plugin) => unknown]>([
    ['shut down', plugin => plugin.shutdown()],
    ['during its shutdown', plugin => void plugin.shutdown()],
    ['disposed of', plugin => plugin[Symbol.asyncDispose]()],
    ['ended by a presumed exit of the process', () => endOfProcess()],
  ])('creates one live plugin after a plugin %s, and each hook reaches it once', async (_how, end) => {
    const { context, fire, subscribed } = firing()
    const first = registered(context)
    await end(first)
    const spans = recorded()
    const second = registered(context, { tracerProvider: spans.tracerProvider })
    expect(second).not.toBe(first)
    expect(subscribed()).toBe(HOOK_NAMES.length)
    fire('on_session_start', { session_id: 's1' })
    fire('on_session_end', { session_id: 's1', completed: true })
    expect(second.stats().hooks).toEqual({ ok: 2, ignored: 0, duplicate: 0, error: 0 })
    expect(first.stats().hooks).toEqual({ ok: 0, ignored: 0, duplicate: 0, error: 0 })
    expect(spans.names()).toEqual(['agent'])
    expect(registered(context)).toBe(second)
  })

  test('creates one again and again', async () => {
    const { context, fire } = firing()
    for (let round = 0; round < 3; round += 1) {
      const plugin = registered(context)
      fire('on_session_start', { session_id: 's1' })
      expect(plugin.stats().spansOpen).toBe(1)
      await plugin.shutdown()
    }
  })

  test('creates an enabled plugin beside a disabled one', async () => {
    const { context, fire } = firing()
    const off = registered(context, { ...QUIET, enabled: false })
    expect(registered(context)).toBe(off)
    await off.shutdown()
    const on = registered(context)
    fire('on_session_start', { session_id: 's1' })
    expect(on.stats().hooks.ok).toBe(1)
  })
})

/** Who listens for the end of the process before any plugin does. */
const OF_OTHERS: readonly unknown[] = process.listeners('beforeExit')

/** What Node does when nothing is left to be done; the process can go on all the same. */
function endOfProcess(): void {
  for (const listener of process.listeners('beforeExit')) {
    if (!OF_OTHERS.includes(listener)) (listener as () => void)()
  }
}

describe('a host without hooks', () => {
  test('gets a disabled plugin; nothing is opened, and a line has the reason', () => {
    const listeners = (): number[] => ['beforeExit', 'exit', 'SIGINT'].map(name => process.listenerCount(name))
    const before = listeners()
    const timers = vi.spyOn(globalThis, 'setInterval')
    const plugin = register({}, { logger, handle_signals: true })
    expect(tellTurn(plugin)).toBeUndefined()
    expect(plugin.stats()).toMatchObject({ hooks: { ok: 0, ignored: 0 }, backends: [], traceFiles: [] })
    expect(filesBelow(home)).toEqual([])
    expect(listeners()).toEqual(before)
    expect(timers).not.toHaveBeenCalled()
    timers.mockRestore()
    expect(lines).toEqual([
      'hookspan: register: the host context has no registerHook or register_hook; nothing is recorded',
    ])
  })
})

describe('a host that does not accept every hook', () => {
  test('is reported only with debugging on', async () => {
    const { context } = firing(name => name !== 'on_session_reset')
    await registered(context, { ...QUIET, debug: true }).shutdown()
    expect(lines).toEqual([])
    expect(readFileSync(`${home}/hookspan/debug.log`, 'utf8')).toMatch(
      /^\S+ register: the host does not take on_session_reset\n$/,
    )
  })

  test('is reported if it accepts none: nothing will be recorded', () => {
    const plugin = registered(firing(() => false).context)
    expect(lines).toEqual(['hookspan: register: the host takes none of the hooks; only what is emitted is recorded'])
    plugin.emit('on_session_start', { session_id: 's1' })
    expect(plugin.stats().hooks.ok).toBe(1)
  })
})

describe('`await using`', () => {
  test('shuts down: its open spans are ended', async () => {
    const { tracerProvider, names } = recorded()
    {
      await using plugin = scratchPlugin({ tracerProvider }).plugin
      plugin.emit('pre_llm_call', { session_id: 's1', turn_id: 't1', model: 'qwen3' })
    }
    expect(names()).toEqual(['llm.qwen3', 'agent'])
  })

  test.each<[string, () => Plugin]>([
    ['switched off', () => scratchPlugin({ enabled: false }).plugin],
    ['for tests', () => createTestPlugin()],
    [
      'shut down before',
      () => {
        const { plugin } = scratchPlugin(QUIET)
        void plugin.shutdown()
        return plugin
      },
    ],
  ])('affects no other code with a plugin that is %s', async (_what, make) => {
    await expect(make()[Symbol.asyncDispose]()).resolves.toBeUndefined()
  })
})

describe('a plugin that is shut down', () => {
  test('answers everything: its own log is closed, its figures stay', async () => {
    const { plugin } = scratchPlugin()
    await tellTurn(plugin)
    await Promise.all([plugin.shutdown(), plugin.shutdown(), plugin.flush()])
    const before = plugin.stats()
    expect(tellTurn(plugin)).toBeUndefined()
    await expect(plugin.flush()).resolves.toBeUndefined()
    await expect(plugin.shutdown()).resolves.toBeUndefined()
    expect(plugin.stats().traceFiles).toEqual(before.traceFiles)
    expect(plugin.stats().hooks).toEqual({ ...before.hooks, ignored: 5 })
  })

  test('leaves another one alone', async () => {
    const spans = [recorded(), recorded()]
    const [one, other] = spans.map(({ tracerProvider }) => scratchPlugin({ tracerProvider }).plugin) as [Plugin, Plugin]
    one.emit('on_session_start', { session_id: 's1' })
    other.emit('on_session_start', { session_id: 's1' })
    await one.shutdown()
    await tellTurn(other)
    expect(spans.map(({ names }) => names())).toEqual([['agent'], TURN])
  })
})

/** A provider whose spans fail at one thing. */
function failing(what: 'end' | 'setAttribute'): ProxyTracerProvider {
  const span = new ProxyTracerProvider().getTracer('none').startSpan('none')
  const context = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 }
  const fail = (): never => {
    throw new Error('not today')
  }
  const broken: Span = Object.assign(Object.create(span) as Span, {
    isRecording: () => true,
    spanContext: () => context,
    [what]: fail,
  })
  const provider = new ProxyTracerProvider()
  provider.setDelegate({ getTracer: () => ({ startSpan: () => broken, startActiveSpan: fail }) })
  return provider
}

describe.each(['end', 'setAttribute'] as const)('a provider whose spans fail at %s', what => {
  test('does not fail a shutdown, nor the end of the process for the others', async () => {
    const { plugin, lines: said } = scratchPlugin({ tracerProvider: failing(what) })
    const before = process.listenerCount('beforeExit')
    for (const turn_id of ['t1', 't2']) plugin.emit('pre_llm_call', { session_id: turn_id, turn_id, model: 'qwen3' })
    await expect(plugin.shutdown()).resolves.toBeUndefined()
    expect(process.listenerCount('beforeExit')).toBe(before - 1)
    expect(said.length).toBeGreaterThan(0)
  })
})

test('ends the other spans if a processor fails at the end of one', async () => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [
      new SimpleSpanProcessor(exporter),
      {
        onStart: () => undefined,
        onEnd: span => {
          if (span.name !== 'agent') throw new Error('not today')
        },
        forceFlush: () => Promise.resolve(),
        shutdown: () => Promise.resolve(),
      },
    ],
  })
  const { plugin } = scratchPlugin({ tracerProvider })
  plugin.emit('pre_llm_call', { session_id: 's1', turn_id: 't1', model: 'qwen3' })
  await plugin.shutdown()
  expect(exporter.getFinishedSpans().map(span => span.name)).toEqual(['llm.qwen3', 'agent'])
  expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
})
