import { afterEach, describe, expect, test } from 'vitest'
import * as entry from '../../../src/agents/opencode/index.ts'
import type { Hooks } from '../../../src/agents/opencode/types.ts'
import { freshHostsEachTest } from '../fresh-hosts.ts'
import { Scene } from './scene.ts'

const TAP = Symbol.for('hookspan.tap')
type Shared = Record<symbol, unknown>

freshHostsEachTest()

const started = (options: object = {}): Promise<Hooks> =>
  entry.HookspanPlugin({ directory: '/project' }, { local_log: false, ...options })

/** Tells a host's hooks what a scene tells. */
async function tell(hooks: Hooks, { events }: Scene): Promise<void> {
  for (const { event, data, output } of events) {
    if (event.startsWith('event.')) await hooks.event({ event: { type: event.slice(6), properties: data } })
    else await hooks[event as 'chat.params'](data as { sessionID: string }, output)
  }
}

const atWork = (): Scene => new Scene().prompt('s', 'u1', 'hello').step('s', 'u1', 'a1').runs('s', 'a1', 'c1')
const headersFor = async (hooks: Hooks, sessionID: string, agent = 'build', headers = {}): Promise<object> => {
  await hooks['chat.headers']({ sessionID, agent }, { headers })
  return headers
}
const variablesFor = async (hooks: Hooks, input: object): Promise<{ TRACEPARENT?: string }> => {
  const output = { env: {} }
  await hooks['shell.env'](input, output)
  return output.env
}

test('has one export, because opencode calls every one', () => {
  expect(Object.keys(entry)).toEqual(['HookspanPlugin'])
})

test('registers no hook in which an error would cost a tool', async () => {
  expect(Object.keys(await started()).toSorted()).toEqual([
    'chat.headers',
    'chat.message',
    'chat.params',
    'dispose',
    'event',
    'shell.env',
  ])
})

test('emits the content of the captures', async () => {
  const told: unknown[] = []
  ;(globalThis as Shared)[TAP] = (_host: string, event: object) => told.push({ ...event, at: 0 })
  const scene = atWork()
  const hooks = await started()
  await tell(hooks, scene)
  await hooks.dispose()
  const expected = scene.events.map(event => ({ ...event, at: 0 }))
  expect(told).toEqual([...expected, { event: 'dispose', at: 0, data: { directory: '/project' } }])
})

describe('the trace context', () => {
  test('goes along with the requests of the loop, and to the shells of its tools', async () => {
    const hooks = await started()
    await tell(hooks, atWork())
    const { TRACEPARENT: ofTool } = await variablesFor(hooks, { sessionID: 's', callID: 'c1' })
    const { TRACEPARENT: ofTurn } = await variablesFor(hooks, { sessionID: 's', callID: 'none' })
    expect(await headersFor(hooks, 's')).toEqual({ traceparent: ofTurn })
    expect(ofTool).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(ofTool).not.toBe(ofTurn)
    expect(ofTool?.slice(0, 36)).toBe(ofTurn?.slice(0, 36))
  })

  test('goes nowhere else, and over nothing that is there', async () => {
    const hooks = await started()
    await tell(hooks, atWork())
    expect(await headersFor(hooks, 's', 'title')).toEqual({})
    expect(await headersFor(hooks, 'another')).toEqual({})
    expect(await variablesFor(hooks, {})).toEqual({})
    expect(await headersFor(hooks, 's', 'build', { traceparent: 'mine' })).toEqual({ traceparent: 'mine' })
  })

  test('is switched off by its key', async () => {
    const hooks = await started({ propagate_context: false })
    await tell(hooks, atWork())
    expect(await headersFor(hooks, 's')).toEqual({})
    expect(await variablesFor(hooks, { sessionID: 's', callID: 'c1' })).toEqual({})
  })
})

test('survives any value from opencode in a hook', async () => {
  const hooks = await started()
  const frozen = Object.freeze({})
  for (const strange of [undefined, null, 0, 'x', [], frozen, { headers: frozen, env: frozen, sessionID: 's' }]) {
    for (const hook of Object.values(hooks) as ((...given: unknown[]) => Promise<void>)[]) {
      await expect(hook(strange, strange)).resolves.toBeUndefined()
    }
  }
})

describe('lines for the user', () => {
  const wrong = { local_log: false, preview_max_chars: 'soon' }
  const clientThat = (log: (options: unknown) => unknown) => ({ directory: '/project', client: { app: { log } } })

  afterEach(() => {
    delete (globalThis as { Bun?: unknown }).Bun
  })

  test("writes to opencode's log if that draws on the terminal", async () => {
    ;(globalThis as { Bun?: unknown }).Bun = { isMainThread: false }
    const logged: unknown[] = []
    await entry.HookspanPlugin(
      clientThat(options => {
        logged.push(options)
        return Promise.reject(new Error('not yet'))
      }),
      wrong,
    )
    const message = expect.stringMatching(/^hookspan: .*preview_max_chars.*soon/)
    expect(logged).toEqual([{ body: { service: 'hookspan', level: 'warn', message } }])
  })

  test.each([undefined, { isMainThread: true }])('writes nowhere near it otherwise', async bun => {
    ;(globalThis as { Bun?: unknown }).Bun = bun
    const logged: unknown[] = []
    await entry.HookspanPlugin(
      clientThat(options => logged.push(options)),
      wrong,
    )
    expect(logged).toEqual([])
  })
})
