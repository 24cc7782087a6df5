/** Whatever arrives: the host does not notice, the turn around it is drawn, and every record is counted once. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { HOOK_NAMES, type HookMeta, type HookName } from '../../src/index.ts'
import { createTestPlugin, type StoredSpan, type TestPlugin } from '../../src/testing.ts'
import { CONTRACT_FIELDS } from '../support/contract-fields.ts'
import { START_AT } from '../support/feed.ts'
import {
  boom,
  HOSTILE_HOOKS,
  HOSTILE_TIMES,
  HOSTILE_VALUES,
  type HostileValue,
  LARGE_VALUES,
  PAYLOAD_TEXT,
} from '../support/hostile-values.ts'
import { expectSoundTree, total } from '../support/trace-invariants.ts'

// A record without a time is taken for one of now, and now must not be years after the others.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: START_AT + 60_000 }))
afterEach(() => void vi.useRealTimers())

const EVERYTHING = { capture_sender_id: true, capture_conversation_history: true } as const

type Told = readonly [HookName, Record<string, unknown>]

/** What every turn has, and what goes with a hook: an end with its start, an approval with its tool. */
const FRAME = /^on_session_start$|llm|^on_session_end$/
const FAMILIES = [/api/, /tool|approval/, /subagent/, /auxiliary/, /reset|finalize/]

/** A turn with the hook in it, and no more than it takes. */
function sceneOf(hook: HookName, session: string): Told[] {
  const family = FAMILIES.find(pattern => pattern.test(hook))
  return scene(session).filter(([name]) => name === hook || FRAME.test(name) || family?.test(name))
}

/** A turn with every hook in it, in an order that makes sense. */
function scene(session: string): Told[] {
  const turn = { session_id: session, turn_id: `${session}.t` }
  const request = { ...turn, api_request_id: `${session}.r`, model: 'qwen3', provider: 'openai' }
  const call = { ...turn, tool_name: 'terminal', tool_call_id: `${session}.c`, args: { command: 'ls' } }
  const child = { parent_session_id: session, parent_turn_id: `${session}.t`, child_session_id: `${session}.child` }
  const side = { ...request, api_request_id: `${session}.side`, aux_task: 'title' }
  return [
    ['on_session_start', { session_id: session, model: 'qwen3' }],
    ['pre_llm_call', { ...turn, model: 'qwen3', user_message: 'hello' }],
    ['pre_auxiliary_call', side],
    ['post_auxiliary_call', side],
    ['pre_api_request', { ...request, retry_count: 0 }],
    ['api_request_error', { ...request, retry_count: 0, error: { type: 'Timeout' } }],
    ['pre_api_request', { ...request, retry_count: 1 }],
    ['post_api_request', { ...request, retry_count: 1, usage: { prompt_tokens: 1 } }],
    ['pre_tool_call', call],
    ['pre_approval_request', { ...call, pattern_key: 'ls' }],
    ['post_approval_response', { ...call, pattern_key: 'ls', choice: 'once' }],
    ['subagent_start', { ...child, child_role: 'leaf' }],
    ['subagent_stop', { ...child, child_role: 'leaf', child_status: 'ok' }],
    ['transform_tool_result', { ...call, result: 'ok' }],
    ['post_tool_call', { ...call, status: 'ok', result: 'done' }],
    ['transform_llm_output', { ...turn, response_text: 'hi' }],
    ['post_llm_call', { ...turn, model: 'qwen3', assistant_response: 'hi' }],
    ['on_session_end', { ...turn, completed: true }],
    ['on_session_reset', { old_session_id: session, new_session_id: `${session}.next` }],
    ['on_session_finalize', { session_id: `${session}.next` }],
  ]
}

type Spoil = (payload: Record<string, unknown>) => unknown

/** Tells a turn whose records of one hook are spoilt; returns what a host would have noticed. */
function tellSpoilt(
  plugin: TestPlugin,
  session: string,
  hook: HookName,
  spoil: Spoil,
  spoilMeta: object = {},
): string[] {
  const noticed: string[] = []
  for (const [index, [name, payload]] of sceneOf(hook, session).entries()) {
    const isSpoilt = name === hook
    const meta = { at: START_AT + index, ...(isSpoilt ? spoilMeta : {}) } as HookMeta
    const before = counted(plugin)
    try {
      const returned: unknown = plugin.on(name, isSpoilt ? spoil(payload) : payload, meta)
      if (returned !== undefined && !(returned instanceof Promise)) noticed.push(`returned ${typeof returned}`)
    } catch (error) {
      noticed.push(`threw ${String(error)}`)
    }
    if (counted(plugin) !== before + 1) noticed.push(`counted ${counted(plugin) - before} times`)
  }
  return noticed
}

function counted(plugin: TestPlugin): number {
  const { ok, ignored, duplicate, error } = plugin.stats().hooks
  return ok + ignored + duplicate + error
}

/** No half of a character. */
const WELL_FORMED = /^(?:[\ud800-\udbff][\udc00-\udfff]|[^\ud800-\udfff])*$/
const WORDS_OF_NO_VALUE = /\bundefined\b|\[object \w+\]|\bNone\b|\bNaN\b/

/** What is wrong with what was drawn. */
function oddities(span: StoredSpan): string[] {
  const events = span.events.map(event => [event.name, event.attributes] as const)
  const named = [
    [span.name, { 'status.message': span.statusMessage ?? 'none', ...span.attributes }] as const,
    ...events,
  ]
  return named.flatMap(([name, attributes]) => {
    const wrong = Object.entries(attributes).filter(([, value]) => !isPlain(value))
    const nameless =
      name === '' || !WELL_FORMED.test(name) || WORDS_OF_NO_VALUE.test(name) ? [`the name ${JSON.stringify(name)}`] : []
    return [...nameless, ...wrong.map(([key, value]) => `${name} ${key}=${JSON.stringify(value)?.slice(0, 100)}`)]
  })
}

function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(element => typeof element === 'string' && isPlain(element))
  if (typeof value === 'string') return value !== '' && WELL_FORMED.test(value) && !WORDS_OF_NO_VALUE.test(value)
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
}

/** Turns of which the loop is there, below its root. */
function turnsDrawn(spans: readonly StoredSpan[]): Set<unknown> {
  const kinds = new Map(spans.map(span => [span.spanId, span.attributes['hermes.span.kind']]))
  const loops = spans.filter(({ attributes }) => attributes['hermes.span.kind'] === 'llm')
  const rooted = loops.filter(({ parentSpanId }) => kinds.get(parentSpanId ?? '') === 'session')
  return new Set(rooted.map(({ attributes }) => attributes['hermes.turn.id']))
}

async function expectAllWell(plugin: TestPlugin): Promise<void> {
  await plugin.shutdown()
  const spans = plugin.spans()
  expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
  expect(spans.flatMap(oddities)).toEqual([])
  expectSoundTree(spans)
  expect(total(await plugin.metrics(), 'hookspan.hooks')).toBe(counted(plugin))
  expectQuiet(plugin)
}

/** One short line a cause. */
function expectQuiet({ reported }: TestPlugin): void {
  expect(new Set(reported).size).toBe(reported.length)
  expect(reported.filter(line => line.includes('\n') || line.length > 500)).toEqual([])
}

const CASES = [...CONTRACT_FIELDS].map(([hook, fields]) => ({ hook, fields }))

/** Spoils one field of one hook in every way, a turn each; `define` puts the value into the payload. */
async function expectSurvived(
  plugin: TestPlugin,
  { hook, field }: { readonly hook: HookName; readonly field: string },
  values: readonly HostileValue[],
  define: (value: unknown) => PropertyDescriptor = value => ({ value, enumerable: true }),
): Promise<void> {
  const noticed = values.flatMap(({ name, make }, index) => {
    const descriptor = define(make())
    const found = tellSpoilt(plugin, `s${index}`, hook, payload =>
      Object.defineProperty({ ...payload }, field, descriptor),
    )
    return found.map(what => `${field} is ${name}: ${what}`)
  })
  await expectAllWell(plugin)
  const drawn = turnsDrawn(plugin.spans())
  const missing = values.filter((_, index) => !field.endsWith('_id') && !drawn.has(`s${index}.t`))
  expect([...noticed, ...missing.map(({ name }) => `${field} is ${name}: the loop is missing`)]).toEqual([])
}

describe.each(['preview', 'full'] as const)('content_capture: %s', content_capture => {
  const create = (): TestPlugin => createTestPlugin({ host: 'agent', content_capture, ...EVERYTHING })

  test.each(CASES)(
    '$hook: every field may be anything',
    async ({ hook, fields }) => {
      for (const field of fields) {
        const plugin = create()
        await expectSurvived(plugin, { hook, field }, HOSTILE_VALUES)
        expect(plugin.stats().hooks.error).toBe(0)
      }
    },
    60_000,
  )

  test.each(CASES)(
    '$hook: every field may be as large as it likes',
    async ({ hook, fields }) => {
      for (const field of fields) {
        const plugin = create()
        await expectSurvived(plugin, { hook, field }, LARGE_VALUES)
        expect(plugin.stats().hooks.error).toBe(0)
      }
    },
    60_000,
  )

  test.each(CASES)(
    '$hook: every field may throw when it is read, or say something else each time',
    async ({ hook, fields }) => {
      const fickle = ['text', 1, null, 'other', {}]
      const values: HostileValue[] = [
        { name: 'a getter that throws', make: () => boom },
        { name: 'a getter that changes its mind', make: () => () => fickle[reads++ % fickle.length] },
      ]
      let reads = 0
      for (const field of fields) {
        const define = (get: unknown): PropertyDescriptor => ({ get: get as () => unknown, enumerable: true })
        await expectSurvived(create(), { hook, field }, values, define)
      }
    },
  )
})

const PAYLOADS: readonly HostileValue[] = [
  { name: 'missing', make: () => undefined },
  { name: 'an empty array', make: () => [] },
  { name: 'text', make: () => 'text' },
  ...HOSTILE_VALUES,
  ...LARGE_VALUES,
]

test.each(HOOK_NAMES)(
  '%s: the payload itself may be anything',
  async hook => {
    const plugin = createTestPlugin({ host: 'agent' })
    for (const [index, { make }] of PAYLOADS.entries()) {
      const payload = make()
      expect(tellSpoilt(plugin, `s${index}`, hook, () => payload)).toEqual([])
    }
    await expectAllWell(plugin)
  },
  60_000,
)

describe('what comes beside a payload', () => {
  const fields = ['at', 'host', 'delivery_id', 'correlation'] as const

  test.each(fields)('%s may be anything', async field => {
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

  test('the host of a numbered delivery may be anything', async () => {
    const plugin = createTestPlugin({ host: 'agent' })
    for (const [index, { make }] of HOSTILE_VALUES.entries()) {
      const meta = { host: make(), delivery_id: `d${index}` }
      expect(tellSpoilt(plugin, `s${index}`, 'pre_llm_call', payload => payload, meta)).toEqual([])
    }
    await expectAllWell(plugin)
    expect(plugin.stats().hooks.error).toBe(0)
  })

  test('all of it may be anything', async () => {
    const plugin = createTestPlugin({ host: 'agent' })
    for (const { make } of PAYLOADS) {
      expect(() =>
        plugin.on('pre_tool_call', { session_id: 's', tool_name: 'terminal' }, make() as HookMeta),
      ).not.toThrow()
    }
    expect(counted(plugin)).toBe(PAYLOADS.length)
    await expectAllWell(plugin)
  })

  test('a hook may have any name', async () => {
    const plugin = createTestPlugin({ host: 'agent' })
    for (const hook of HOSTILE_HOOKS) expect(plugin.on(hook as string, { session_id: 's' })).toBeUndefined()
    expect(plugin.stats().hooks).toEqual({ ok: 0, ignored: HOSTILE_HOOKS.length, duplicate: 0, error: 0 })
    expect(await labelsOf(plugin)).toEqual(['unknown ignored'])
    await expectAllWell(plugin)
  })

  test('ids to ask for a traceparent with may be anything', () => {
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

test('50 million characters are read as far as they are shown', async () => {
  const plugin = createTestPlugin({ host: 'agent', content_capture: 'full' })
  const text = 'word '.repeat(10_000_000)
  for (const [index, [hook, fields]] of [...CONTRACT_FIELDS].entries()) {
    const large = Object.fromEntries(fields.map(field => [field, field.endsWith('_id') ? 's' : text]))
    expect(tellSpoilt(plugin, `s${index}`, hook, payload => ({ ...large, ...payload }))).toEqual([])
  }
  await expectAllWell(plugin)
  const longest = plugin
    .spans()
    .flatMap(({ attributes }) => Object.values(attributes).map(value => String(value).length))
  expect(Math.max(...longest)).toBeLessThan(200_000)
}, 60_000)

test('an error that a host throws at us is told once, without what it says: that may be what an agent said', () => {
  const plugin = createTestPlugin({ host: 'agent' })
  const payload = Object.defineProperty({}, 'session_id', { get: boom })
  for (let round = 0; round < 10; round += 1) plugin.on('pre_llm_call', payload)
  expect(plugin.stats().hooks.error).toBe(10)
  expect(plugin.reported).toHaveLength(1)
  expect(plugin.reported.join()).not.toContain(PAYLOAD_TEXT)
})

test('errors in ever new words do not flood', () => {
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
  'attempts are counted, also when a host says that one is number %s',
  retry_count => {
    const plugin = createTestPlugin({ host: 'agent' })
    const request = { session_id: 's', turn_id: 't', api_request_id: 'r', retry_count }
    for (let at = 0; at < 4; at += 1) plugin.on('pre_api_request', request, { at: START_AT + at })
    plugin.on('on_session_end', request, { at: START_AT + 10 })
    const attempts = plugin.spans().flatMap(({ attributes }) => attributes['hermes.api.attempt'] ?? [])
    expect(new Set(attempts).size).toBe(4)
    expect(attempts.every(attempt => Number.isSafeInteger(attempt) && Number(attempt) >= 0)).toBe(true)
  },
)
