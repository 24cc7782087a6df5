import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  HOOK_NAMES,
  type HookHandler,
  type HostContext,
  type Plugin,
  type PluginOptions,
  register,
} from '../../src/index.ts'
import { HOSTILE_VALUES } from '../support/hostile-values.ts'
import { ending, scratchHome } from './scratch-plugin.ts'

const QUIET: PluginOptions = { local_log: false, force_flush_wait_ms: 50 }

let said: string[] = []

beforeEach(() => {
  const home = scratchHome()
  for (const name of ['HOME', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME']) vi.stubEnv(name, home)
  said = []
  vi.spyOn(process.stderr, 'write').mockImplementation(text => {
    said.push(String(text))
    return true
  })
})

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

function registered(context: unknown, options: PluginOptions = QUIET): Plugin {
  return ending(register(context as HostContext, options))
}

/** A host that keeps what it is given, under either spelling. */
function hostWith(spelling: 'registerHook' | 'register_hook', known: readonly string[] = HOOK_NAMES) {
  const handlers = new Map<string, HookHandler>()
  let calls = 0
  const subscribe = (name: string, handler: HookHandler): void => {
    calls += 1
    if (!known.includes(name)) throw new Error(`unknown hook ${name}`)
    handlers.set(name, handler)
  }
  return { context: { [spelling]: subscribe }, handlers, calls: () => calls }
}

describe.each(['registerHook', 'register_hook'] as const)('a host that offers %s', spelling => {
  test('gets a handler for every hook', () => {
    const { context, handlers } = hostWith(spelling)
    const plugin = registered(context)
    expect([...handlers.keys()]).toEqual([...HOOK_NAMES])
    for (const handler of handlers.values()) handler({ session_id: 's1' })
    const { ok, ignored, duplicate, error } = plugin.stats().hooks
    expect([ok + ignored + duplicate, error]).toEqual([HOOK_NAMES.length, 0])
    expect(said).toEqual([])
  })

  test('registers the other hooks if it does not know one', () => {
    const known = HOOK_NAMES.filter((_, index) => index % 2 === 1)
    const { context, handlers } = hostWith(spelling, known)
    registered(context)
    expect([...handlers.keys()]).toEqual(known)
    expect(said).toEqual([])
  })

  test('keeps one plugin if it loads us twice, and counts no hook twice', () => {
    const { context, calls } = hostWith(spelling)
    const first = registered(context)
    expect(registered(context)).toBe(first)
    expect(calls()).toBe(HOOK_NAMES.length)
    expect(registered(hostWith(spelling).context)).not.toBe(first)
  })
})

test('may be a class that needs its this', () => {
  class Host {
    readonly #names: string[] = []
    registerHook(name: string): void {
      this.#names.push(name)
    }
    get count(): number {
      return this.#names.length
    }
  }
  const host = new Host()
  registered(host)
  expect(host.count).toBe(HOOK_NAMES.length)
})

test('may be a function, or frozen', () => {
  const names: string[] = []
  const registerHook = (name: string): void => void names.push(name)
  registered(Object.assign(() => undefined, { registerHook }))
  registered(Object.freeze({ registerHook }))
  expect(names).toHaveLength(2 * HOOK_NAMES.length)
})

test('is not asked again if it rejects a hook later, by a promise', async () => {
  const rejections: unknown[] = []
  const note = (reason: unknown): void => void rejections.push(reason)
  process.on('unhandledRejection', note)
  registered({ registerHook: (name: string) => Promise.reject(new Error(`unknown hook ${name}`)) })
  await new Promise(resolve => setImmediate(resolve))
  await new Promise(resolve => setImmediate(resolve))
  process.off('unhandledRejection', note)
  expect(rejections).toEqual([])
})

describe('an invalid context', () => {
  test.each([
    ['nothing', undefined],
    ['an object without either', {}],
    ['an object where they are no functions', { registerHook: 'yes', register_hook: 1 }],
    ['a list', []],
    ['text', 'registerHook'],
  ])('is reported in one line, with a plugin that accepts everything: %s', (_what, context) => {
    const plugin = registered(context)
    expect(said).toHaveLength(1)
    expect(said[0]).toMatch(/^hookspan: .*register_hook.*\n$/)
    expect(plugin.on('on_session_start', { session_id: 's1' })).toBeUndefined()
  })

  test.each(HOSTILE_VALUES.map(({ name, make }) => [name, make] as const))('throws nothing: %s', (_name, make) => {
    expect(() => registered(make())).not.toThrow()
  })

  test('throws nothing when asking it throws', () => {
    const get = (): never => {
      throw new Error('no')
    }
    expect(() => registered(Object.defineProperty({}, 'registerHook', { get }))).not.toThrow()
    expect(() => registered(Object.defineProperty({}, 'register_hook', { get }))).not.toThrow()
  })
})

describe('invalid options', () => {
  test.each([null, 42, 'text', [], new Proxy({}, {}), () => undefined])('does not throw: %s', options => {
    const { context, handlers } = hostWith('registerHook')
    expect(() => registered(context, options as PluginOptions)).not.toThrow()
    expect(handlers.size).toBe(HOOK_NAMES.length)
  })
})
