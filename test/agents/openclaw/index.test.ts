import { beforeEach, describe, expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import plugin, {
  type OpenClawAgentEvent,
  type OpenClawApi,
  type OpenClawHandler,
} from '../../../src/agents/openclaw/index.ts'
import { freshHostsEachTest } from '../fresh-hosts.ts'

const RUNNING = Symbol.for('hookspan.hosts')
const TAP = Symbol.for('hookspan.tap')
const GLOBAL = globalThis as { [key: symbol]: unknown }

let told: HostEvent[] = []

freshHostsEachTest()

beforeEach(() => {
  told = []
  GLOBAL[TAP] = (_: string, event: HostEvent) => told.push(event)
})

const ALLOWED = { plugins: { entries: { hookspan: { hooks: { allowConversationAccess: true } } } } }

/** One process of OpenClaw, which loads the plugin as often as it likes. */
class FakeHost {
  readonly handlers: { hook: string; handler: OpenClawHandler }[] = []
  readonly listeners = new Set<(event: OpenClawAgentEvent) => void>()
  readonly disposers: (() => void)[] = []

  load(registrationMode: string, more: Partial<OpenClawApi> = {}): this {
    plugin.register({
      id: 'hookspan',
      registrationMode,
      config: ALLOWED,
      pluginConfig: { local_log: false, backends: [] },
      runtime: {
        events: {
          onAgentEvent: listener => {
            this.listeners.add(listener)
            return () => this.listeners.delete(listener)
          },
        },
      },
      lifecycle: { onDispose: dispose => this.disposers.push(dispose) },
      on: (hook, handler) => this.handlers.push({ hook, handler }),
      ...more,
    })
    return this
  }

  get hooks(): string[] {
    return this.handlers.map(({ hook }) => hook)
  }

  calls(name: string, event: unknown, context: unknown = {}): unknown[] {
    return this.handlers.filter(({ hook }) => hook === name).map(({ handler }) => handler(event, context))
  }

  emits(event: OpenClawAgentEvent): void {
    for (const listener of this.listeners) listener(event)
  }
}

describe('the plugin', () => {
  test('starts nothing until something happens: most loads only look at it', () => {
    const host = new FakeHost().load('full').load('discovery').load('discovery')
    expect(GLOBAL[RUNNING]).toBeUndefined()
    host.calls('model_call_started', { runId: 'r1', callId: 'c1' })
    expect(GLOBAL[RUNNING]).toBeInstanceOf(Map)
  })

  test.each(['cli-metadata', 'setup-only'])('reads nothing of the host in mode %s, where that would throw', mode => {
    const lifeless = new Proxy({ registrationMode: mode } as OpenClawApi, {
      get: (api, key) => (key === 'registrationMode' ? api.registrationMode : expect.fail(`asked for ${String(key)}`)),
    })
    plugin.register(lifeless)
  })

  test('leaves the hooks alone in which a failure would cost a tool or a run', () => {
    const { hooks } = new FakeHost().load('full')
    expect(hooks).toContain('after_tool_call')
    expect(hooks).not.toContain('before_tool_call')
    expect(hooks).not.toContain('before_agent_run')
  })

  test('registers conversation hooks only with the permission: the host complains otherwise', () => {
    expect(new FakeHost().load('full').hooks).toContain('llm_input')
    expect(new FakeHost().load('full', { config: { plugins: {} } }).hooks).not.toContain('llm_input')
  })

  test('receives an agent event once, however often it was loaded', () => {
    const host = new FakeHost().load('full').load('discovery').load('discovery')
    const event = { runId: 'r1', stream: 'lifecycle', data: { phase: 'start' }, sessionKey: 'k1' }
    host.emits(event)
    host.emits({ ...event })
    expect(told).toHaveLength(2)
    expect(told[0]).toMatchObject({ event: 'AGENT_EVENT', data: { runId: 'r1', sessionKey: 'k1' } })
  })

  test('receives a hook once, also when it was loaded twice for it', () => {
    const host = new FakeHost().load('full').load('full')
    host.calls('model_call_started', { runId: 'r1', callId: 'c1' })
    expect(told).toHaveLength(1)
  })

  test("skips a run's frequent events", () => {
    const host = new FakeHost().load('full')
    host.emits({ runId: 'r1', stream: 'assistant', data: { delta: 'a' } })
    host.emits({ runId: 'r1', stream: 'tool', data: { phase: 'update', partialResult: {} } })
    expect(told).toEqual([])
  })

  test('keeps the names of tools, not their instructions', () => {
    const host = new FakeHost().load('full')
    host.calls('llm_input', { runId: 'r1', prompt: 'Look', tools: [{ name: 'read', parameters: {} }] })
    expect(told[0]?.data).toMatchObject({ prompt: 'Look', tools: ['read'] })
  })

  test('releases the host when it is disposed of', () => {
    const host = new FakeHost().load('full')
    for (const dispose of host.disposers) dispose()
    expect(host.listeners.size).toBe(0)
  })
})

describe('the host', () => {
  const hostile = new Proxy({}, { get: () => raise(), has: () => raise(), ownKeys: () => raise() })

  test('sees no handler throw, and only the last return anything, at any event', async () => {
    const host = new FakeHost().load('full', { runtime: {} })
    for (const event of [hostile, undefined, null, 'text', 7, []]) {
      for (const { hook, handler } of host.handlers) {
        const given = handler(event, hostile)
        if (hook === 'session_end' || hook === 'gateway_stop') await expect(given).resolves.toBeUndefined()
        else expect(given).toBeUndefined()
      }
    }
  })

  test('sees no listener throw', () => {
    const host = new FakeHost().load('full')
    host.emits(hostile)
    host.emits(undefined as unknown as OpenClawAgentEvent)
    expect(told).toEqual([])
  })
})

function raise(): never {
  throw new Error('not for you')
}
