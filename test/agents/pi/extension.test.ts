import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import hookspan, { createPiExtension, type PiContext, type PiExtensionApi } from '../../../src/agents/pi/index.ts'
import type { PluginOptions } from '../../../src/index.ts'
import { forgetHosts, freshHostsEachTest } from '../fresh-hosts.ts'

const OPTIONS: PluginOptions = { local_log: false, prometheus: false }
const TRACEPARENT = expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)

type Handler = Parameters<PiExtensionApi['on']>[1]

/** A Pi with nothing in it but our extension. */
class FakePi implements PiExtensionApi {
  readonly handlers = new Map<string, Handler[]>()
  readonly context: PiContext

  constructor(context: PiContext = {}) {
    const model = { provider: 'fake', id: 'fake-1', api: 'openai-completions' }
    this.context = { sessionManager: { getSessionId: () => 's1' }, model, hasUI: false, mode: 'print', ...context }
  }

  on(event: string, handler: Handler): void {
    this.handlers.set(event, [...(this.handlers.get(event) ?? []), handler])
  }

  /** What the last handler gives back. */
  emit(type: string, data: object = {}, context: PiContext = this.context): unknown {
    return this.handlers.get(type)?.reduce<unknown>((_, handler) => handler({ type, ...data }, context), undefined)
  }
}

function piWith(options: PluginOptions = {}, context: PiContext = {}): FakePi {
  const pi = new FakePi(context)
  createPiExtension({ ...OPTIONS, ...options })(pi)
  return pi
}

function tapped(): HostEvent[] {
  const seen: HostEvent[] = []
  Reflect.set(globalThis, Symbol.for('hookspan.tap'), (_host: string, event: HostEvent) => seen.push(event))
  return seen
}

freshHostsEachTest()

beforeEach(() => {
  vi.stubEnv('TRACEPARENT', undefined)
})

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('the safety of Pi', () => {
  test('returns nothing from every handler, whatever its arguments', () => {
    const pi = piWith()
    for (const name of pi.handlers.keys()) {
      for (const data of [{}, { message: null, toolCallId: 7, headers: 'none' }]) {
        if (name !== 'session_shutdown') expect(pi.emit(name, data)).toBeUndefined()
      }
    }
  })

  test('throws from no handler, not even after Pi has released its session', () => {
    const pi = piWith()
    const stale = new Proxy({}, { get: () => raise() })
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    for (const name of pi.handlers.keys()) expect(() => pi.emit(name, {}, stale)).not.toThrow()
    write.mockRestore()
  })

  test('registers no handler that must answer, or that makes Pi copy the conversation', () => {
    const costly = ['project_trust', 'context', 'context_with_system', 'turn_end', 'agent_before_settle', 'input']
    expect([...piWith().handlers.keys()].filter(name => costly.includes(name))).toEqual([])
  })

  test('makes Pi wait only at its end: the last turn has to be sent then', async () => {
    const pi = piWith()
    expect(pi.emit('session_shutdown', { reason: 'new' })).toBeUndefined()
    await expect(pi.emit('session_shutdown', { reason: 'quit' })).resolves.toBeUndefined()
  })
})

describe('the events for the machine', () => {
  test('is plain data: the event, and where Pi was', () => {
    const seen = tapped()
    piWith({}, { signal: AbortSignal.abort() }).emit('agent_start')
    expect(seen).toEqual([
      {
        event: 'agent_start',
        at: expect.any(Number),
        data: { type: 'agent_start' },
        context: {
          sessionId: 's1',
          model: { provider: 'fake', id: 'fake-1', api: 'openai-completions', baseUrl: undefined },
          hasUI: false,
          mode: 'print',
          aborted: true,
        },
      },
    ])
  })

  test('is of an answer only where a part of it begins, not every word', () => {
    const seen = tapped()
    const pi = piWith()
    for (const type of ['text_start', 'text_delta', 'text_delta', 'text_end']) {
      pi.emit('message_update', { assistantMessageEvent: { type } })
    }
    expect(seen).toHaveLength(1)
  })
})

describe('lines for the user', () => {
  test('shows them through Pi if that draws on the terminal', () => {
    const notify = vi.fn()
    const pi = piWith({ sample_rate: 7 }, { hasUI: true, ui: { notify } })
    pi.emit('session_start', { reason: 'startup' })
    expect(notify.mock.calls).toEqual([[expect.stringMatching(/^hookspan: config: sample_rate: /), 'warning']])
  })
})

describe('the trace context', () => {
  const inTurn = (options: PluginOptions = {}): FakePi => {
    const pi = piWith(options)
    pi.emit('before_agent_start', { prompt: 'Hi' })
    return pi
  }

  test('goes along with a request to the model', () => {
    const headers = { accept: '*/*' }
    inTurn().emit('before_provider_headers', { headers })
    expect(headers).toEqual({ accept: '*/*', traceparent: TRACEPARENT })
  })

  test('is not set if one exists, outside of a turn, or when it is switched off', () => {
    const given = { TraceParent: 'theirs' }
    inTurn().emit('before_provider_headers', { headers: given })
    expect(given).toEqual({ TraceParent: 'theirs' })
    forgetHosts()
    const off = {}
    inTurn({ propagate_context: false }).emit('before_provider_headers', { headers: off })
    expect(off).toEqual({})
    forgetHosts()
    const outside = {}
    piWith().emit('before_provider_headers', { headers: outside })
    expect(outside).toEqual({})
  })

  const start = (pi: FakePi, toolCallId: string): unknown =>
    pi.emit('tool_execution_start', { toolCallId, toolName: 'bash' })
  const end = (pi: FakePi, toolCallId: string): unknown =>
    pi.emit('tool_execution_end', { toolCallId, toolName: 'bash' })
  const inherited = (): string | undefined => process.env['TRACEPARENT']

  test("is inherited by a tool's processes: its own, or that of the turn while several run", () => {
    const pi = inTurn()
    start(pi, 'a')
    const first = inherited()
    start(pi, 'b')
    const both = inherited()
    end(pi, 'a')
    const second = inherited()
    end(pi, 'b')
    expect([first, both, second, inherited()]).toEqual([TRACEPARENT, TRACEPARENT, TRACEPARENT, undefined])
    expect(new Set([first, both, second]).size).toBe(3)
  })

  test('restores the previous value', () => {
    vi.stubEnv('TRACEPARENT', 'theirs')
    const pi = inTurn()
    start(pi, 'a')
    expect(inherited()).toEqual(TRACEPARENT)
    end(pi, 'a')
    expect(inherited()).toBe('theirs')
  })

  test('is removed even if the end of a tool was lost, or if we are loaded twice', () => {
    const pi = inTurn()
    createPiExtension(OPTIONS)(pi)
    start(pi, 'a')
    expect(inherited()).toEqual(TRACEPARENT)
    pi.emit('agent_end')
    expect(inherited()).toBeUndefined()
  })

  test('stays at home when it is switched off', () => {
    const pi = inTurn({ propagate_context: false })
    start(pi, 'a')
    expect(inherited()).toBeUndefined()
  })
})

test('is an extension as a module', () => {
  vi.stubEnv('HOOKSPAN_LOCAL_LOG', 'false')
  const pi = new FakePi()
  hookspan(pi)
  expect(pi.handlers.size).toBeGreaterThan(20)
})

function raise(): never {
  throw new Error('This extension ctx is stale')
}
