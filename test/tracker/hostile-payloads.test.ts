/** Whatever arrives: the host does not notice, the turn around it is drawn, and every record is counted once. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { HOOK_NAMES, type HookMeta } from '../../src/index.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { CONTRACT_FIELDS } from '../support/contract-fields.ts'
import { START_AT } from '../support/feed.ts'
import { counted, expectAllWell, tellSpoilt } from '../support/hostile-scene.ts'
import {
  boom,
  HOSTILE_HOOKS,
  HOSTILE_TIMES,
  HOSTILE_VALUES,
  type HostileValue,
  LARGE_VALUES,
  PAYLOAD_TEXT,
} from '../support/hostile-values.ts'
import { SAMPLED, sample, times } from '../support/sample.ts'

// A record without a time is taken for one of now, and now must not be years after the others.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: START_AT + 60_000 }))
afterEach(() => void vi.useRealTimers())

const PAYLOADS: readonly HostileValue[] = [
  { name: 'missing', make: () => undefined },
  { name: 'an empty array', make: () => [] },
  { name: 'text', make: () => 'text' },
  ...HOSTILE_VALUES,
  ...LARGE_VALUES,
]

test.each(sample(HOOK_NAMES, 4))(`accepts anything as the payload of %s, ${SAMPLED}`, async hook => {
  const plugin = createTestPlugin({ host: 'agent' })
  for (const [index, { make }] of PAYLOADS.entries()) {
    const payload = make()
    expect(tellSpoilt(plugin, `s${index}`, hook, () => payload)).toEqual([])
  }
  await expectAllWell(plugin)
})

describe('data beside a payload', () => {
  const fields = ['at', 'host', 'delivery_id', 'correlation'] as const

  test.each(fields)('may be anything as %s', async field => {
    const plugin = createTestPlugin({ host: 'agent' })
    const values = field === 'at' ? HOSTILE_TIMES : [...HOSTILE_VALUES, ...LARGE_VALUES].map(({ make }) => make())
    for (const [index, value] of values.entries()) {
      expect(tellSpoilt(plugin, `s${index}`, 'pre_tool_call', payload => payload, { [field]: value })).toEqual([])
    }
    await expectAllWell(plugin)
    expect(plugin.stats().hooks.error).toBe(0)
    const tools = plugin.spans().filter(({ attributes }) => attributes['hermes.span.kind'] === 'tool')
    const delivered = field === 'delivery_id' ? distinctIds(values) : values.length
    expect(tools).toHaveLength(delivered)
  })

  test('may be anything as the host of a numbered delivery', async () => {
    const plugin = createTestPlugin({ host: 'agent' })
    for (const [index, { make }] of HOSTILE_VALUES.entries()) {
      const meta = { host: make(), delivery_id: `d${index}` }
      expect(tellSpoilt(plugin, `s${index}`, 'pre_llm_call', payload => payload, meta)).toEqual([])
    }
    await expectAllWell(plugin)
    expect(plugin.stats().hooks.error).toBe(0)
  })

  test('may be anything at all', async () => {
    const plugin = createTestPlugin({ host: 'agent' })
    for (const { make } of PAYLOADS) {
      expect(() =>
        plugin.on('pre_tool_call', { session_id: 's', tool_name: 'terminal' }, make() as HookMeta),
      ).not.toThrow()
    }
    expect(counted(plugin)).toBe(PAYLOADS.length)
    await expectAllWell(plugin)
  })

  test('accepts any name of a hook', async () => {
    const plugin = createTestPlugin({ host: 'agent' })
    for (const hook of HOSTILE_HOOKS) expect(plugin.emitUntyped(hook as string, { session_id: 's' })).toBeUndefined()
    expect(plugin.stats().hooks).toEqual({ ok: 0, ignored: HOSTILE_HOOKS.length, duplicate: 0, error: 0 })
    expect(await labelsOf(plugin)).toEqual(['unknown ignored'])
    await expectAllWell(plugin)
  })

  test('accepts any ids in a question for a traceparent', () => {
    const plugin = createTestPlugin({ host: 'agent' })
    plugin.on('on_session_start', { session_id: 's' })
    for (const { make } of PAYLOADS) {
      expect(() => plugin.traceparent(make() as object)).not.toThrow()
      expect(() =>
        plugin.traceparent({ session_id: make(), turn_id: make(), tool_call_id: make() } as object),
      ).not.toThrow()
    }
  })
})

/** An id of text or a number that came before is the same delivery; all else is no id. */
function distinctIds(values: readonly unknown[]): number {
  const ids = values.filter(value => (typeof value === 'string' && value !== '') || Number.isFinite(value))
  return values.length - ids.length + new Set(ids.map(id => String(id).slice(0, 512))).size
}

async function labelsOf(plugin: TestPlugin): Promise<string[]> {
  const samples = await plugin.metrics()
  return samples.flatMap(({ name, labels }) =>
    name === 'hookspan.hooks' ? [`${labels['hook']} ${labels['result']}`] : [],
  )
}

test('reads millions of characters only as far as they are shown', async () => {
  const plugin = createTestPlugin({ host: 'agent', content_capture: 'full' })
  const text = 'word '.repeat(times(2_000_000, 10_000_000))
  for (const [index, [hook, fields]] of [...CONTRACT_FIELDS].entries()) {
    const large = Object.fromEntries(fields.map(field => [field, field.endsWith('_id') ? 's' : text]))
    expect(tellSpoilt(plugin, `s${index}`, hook, payload => ({ ...large, ...payload }))).toEqual([])
  }
  await expectAllWell(plugin)
  const longest = plugin
    .spans()
    .flatMap(({ attributes }) => Object.values(attributes).map(value => String(value).length))
  expect(Math.max(...longest)).toBeLessThan(200_000)
})

test('reports an error of a host once, without its message, which may be content', () => {
  const plugin = createTestPlugin({ host: 'agent' })
  const payload = Object.defineProperty({}, 'session_id', { get: boom })
  for (let round = 0; round < 10; round += 1) plugin.on('pre_llm_call', payload)
  expect(plugin.stats().hooks.error).toBe(10)
  expect(plugin.reported).toHaveLength(1)
  expect(plugin.reported.join()).not.toContain(PAYLOAD_TEXT)
})

test('limits the lines about errors with varying messages', () => {
  const plugin = createTestPlugin({ host: 'agent' })
  for (let round = 0; round < 1000; round += 1) {
    const get = (): never => {
      throw new Error(`failure ${round}`)
    }
    plugin.on('pre_llm_call', Object.defineProperty({}, 'session_id', { get }))
  }
  expect(plugin.reported.length).toBeLessThanOrEqual(100)
  expect(plugin.stats().hooks.error).toBe(1000)
})

test.each([Number.MAX_VALUE, -1, 1.5, 2 ** 60, '2e9'])(
  'counts attempts, even if a host numbers one %s',
  retry_count => {
    const plugin = createTestPlugin({ host: 'agent' })
    const request = { session_id: 's', turn_id: 't', api_request_id: 'r', retry_count }
    for (let at = 0; at < 4; at += 1) plugin.emitUntyped('pre_api_request', request, { at: START_AT + at })
    plugin.on('on_session_end', request, { at: START_AT + 10 })
    const attempts = plugin.spans().flatMap(({ attributes }) => attributes['hermes.api.attempt'] ?? [])
    expect(new Set(attempts).size).toBe(4)
    expect(attempts.every(attempt => Number.isSafeInteger(attempt) && Number(attempt) >= 0)).toBe(true)
  },
)
