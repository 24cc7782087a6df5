import { describe, expect, test } from 'vitest'
import type { PluginOptions } from '../../src/index.ts'
import { createTestPlugin, type StoredSpan, type TestPlugin } from '../../src/testing.ts'
import { feedSteps, type Step } from '../support/feed.ts'
import { answered, asked, attributes, began, childTurn, delegated, only, TURN, used } from './scenes.ts'

const SAID = {
  tags: ['beta', 'nightly'],
  metadata: { tenant: 'acme', seats: 3, trial: false },
  user_id: 'u-17',
  attributes: { team: 'search', 'deploy.ring': 2 },
}

/** As Phoenix, Langfuse and OpenTelemetry read it. */
const WRITTEN = {
  'tag.tags': ['beta', 'nightly'],
  metadata: '{"tenant":"acme","seats":3,"trial":false}',
  'user.id': 'u-17',
  team: 'search',
  'deploy.ring': 2,
}

function told(steps: readonly Step[], options: PluginOptions = {}): TestPlugin {
  const plugin = createTestPlugin({ host: 'my-agent', ...options })
  feedSteps(plugin, steps)
  return plugin
}

const session = (said: object, at = 0): Step => [at, 'on_session_start', { session_id: 's1', model: 'qwen3', ...said }]
const prompt = (said: object, at = 20): Step => [at, 'pre_llm_call', { ...TURN, model: 'qwen3', ...said }]
const WORK: readonly Step[] = [...asked(100), ...used(250), ...answered(400)]

function spansOf(plugin: TestPlugin): readonly StoredSpan[] {
  expect(plugin.spans().length).toBeGreaterThan(3)
  return plugin.spans()
}

describe('turn metadata', () => {
  test('is on a child that a late record delegates to, without that of the next turn', () => {
    const plugin = told([
      ...[session({ tags: ['first'] }), prompt({ tags: ['beta'] }), ...answered(150)],
      session({ tags: ['second'] }, 200),
      ...[delegated(100), ...childTurn(110)],
    ])
    const ofChild = plugin.spans().filter(({ attributes }) => attributes['hermes.session.id'] === 'C')
    expect(ofChild.map(span => span.attributes['tag.tags'])).toEqual([...Array(3)].map(() => ['first', 'beta']))
  })

  test.each([
    ['the start of its session', [session(SAID), prompt({}), ...WORK]],
    ['its prompt', [session({}), prompt(SAID), ...WORK]],
    ['both', [session({ tags: ['beta'], user_id: 'u-1' }), prompt({ ...SAID, tags: ['nightly'] }), ...WORK]],
    ['a prompt of an unannounced session', [prompt(SAID), ...WORK]],
    ['a session start that comes after its prompt', [prompt({}), session(SAID, 30), ...WORK]],
  ])('is set by %s, on everything that begins after it, and on the root', (_, steps) => {
    for (const span of spansOf(told(steps))) {
      if (span.name !== 'llm.qwen3') expect(span.attributes, span.name).toMatchObject(WRITTEN)
    }
  })

  test('is on the loop, too, if the prompt sets it', () => {
    expect(attributes(told([session({}), prompt(SAID), ...WORK]), 'llm.qwen3')).toMatchObject(WRITTEN)
  })

  test('is absent if the turn has none', () => {
    for (const { attributes: written } of spansOf(told([session({}), prompt({}), ...WORK]))) {
      expect(Object.keys(written).filter(name => name in WRITTEN)).toEqual([])
    }
  })

  test('is inherited by child agents and by their children, which can add to it', () => {
    const grandchild = { parent_session_id: 'C', parent_turn_id: 'ct1', child_session_id: 'D', child_role: 'reader' }
    const [start, loop, ...rest] = childTurn(300) as [Step, Step, ...Step[]]
    const plugin = told([
      session(SAID),
      prompt({}),
      delegated(200, { tags: ['delegated'], metadata: { depth: 1 } }),
      start,
      loop,
      delegated(320, grandchild),
      ...childTurn(330, 'D', 'dt1'),
      ...rest,
      ...answered(600),
    ])
    const below = {
      ...WRITTEN,
      'tag.tags': ['beta', 'nightly', 'delegated'],
      metadata: '{"tenant":"acme","seats":3,"trial":false,"depth":1}',
    }
    const inherited = plugin.spans().filter(({ attributes: written }) => written['hermes.session.id'] !== 's1')
    expect(inherited.length).toBe(7)
    for (const span of inherited) expect(span.attributes, span.name).toMatchObject(below)
    expect(attributes(plugin, 'subagent.researcher')).toMatchObject(below)
    expect(attributes(plugin, 'llm.qwen3')).toMatchObject(WRITTEN)
  })

  test('is of one turn if a prompt sets it, of all turns until the next start if a session start does', () => {
    const second = { session_id: 's1', turn_id: 't2' }
    const third = { session_id: 's1', turn_id: 't3' }
    const plugin = told([
      session({ tags: ['session'], user_id: 'u-1' }),
      prompt({ tags: ['first'], user_id: 'u-2' }),
      ...answered(100),
      [500, 'pre_llm_call', { ...second, model: 'second' }],
      [510, 'on_session_end', { ...second, completed: true }],
      session({}, 600),
      [610, 'pre_llm_call', { ...third, model: 'third' }],
      [620, 'on_session_end', { ...third, completed: true }],
    ])
    const read = (name: string): unknown[] => [
      attributes(plugin, name)['tag.tags'],
      attributes(plugin, name)['user.id'],
    ]
    expect(read('llm.qwen3')).toEqual([['session', 'first'], 'u-2'])
    expect(read('llm.second')).toEqual([['session'], 'u-1'])
    expect(read('llm.third')).toEqual([undefined, undefined])
  })

  test('prefers a named user to a sender', () => {
    const options = { capture_sender_id: true }
    const sender = { sender_id: '4711', platform: 'telegram' }
    const plugin = told([session({ user_id: 'u-17', ...sender }), prompt(sender), ...WORK], options)
    for (const span of spansOf(plugin)) {
      expect(span.attributes).toMatchObject({ 'user.id': 'u-17', 'hermes.sender.id': '4711' })
    }
  })

  test('is no label of a metric', async () => {
    const plugin = told([session(SAID), prompt({}), ...WORK])
    const labels = (await plugin.metrics()).map(sample => JSON.stringify(sample.labels)).join('\n')
    expect(labels).not.toMatch(/acme|u-17|beta|search|deploy/)
  })
})

describe('conventions', () => {
  const read = (options: PluginOptions): StoredSpan['attributes'] =>
    attributes(told([session(SAID), prompt({}), ...WORK], options), 'tool.terminal')

  test('includes the enabled ones; the user and attributes are always set', () => {
    const written = read({ conventions: ['own', 'gen_ai'] })
    expect(written).toMatchObject({ 'user.id': 'u-17', team: 'search', 'deploy.ring': 2 })
    expect(written).not.toHaveProperty(['tag.tags'])
    expect(written).not.toHaveProperty('metadata')
  })

  test.each<[string, PluginOptions]>([
    ['with its names configured', { conventions: ['langfuse'] }],
    ['as a backend', { backends: [{ type: 'langfuse', public_key: 'a', secret_key: 'b' }] }],
  ])("includes Langfuse's own names, %s", (_, options) => {
    expect(read(options)).toMatchObject({
      'langfuse.trace.tags': ['beta', 'nightly'],
      'langfuse.trace.metadata.tenant': 'acme',
      'langfuse.trace.metadata.seats': 3,
      'langfuse.trace.metadata.trial': false,
      'user.id': 'u-17',
    })
  })

  test('gives the loop, which has a model and no tokens, a cost of zero for Langfuse', () => {
    const plugin = told([...began(), ...WORK], { conventions: ['gen_ai', 'langfuse'] })
    const named = plugin.spans().filter(({ attributes }) => 'langfuse.observation.cost_details' in attributes)
    expect(named.map(({ name }) => name)).toEqual(['llm.qwen3'])
    expect(named[0]?.attributes['langfuse.observation.cost_details']).toBe('{"total":0}')
  })

  test("excludes Langfuse's names if no backend reads them", () => {
    expect(Object.keys(read({})).filter(name => name.startsWith('langfuse'))).toEqual([])
  })
})

describe('any turn metadata', () => {
  const KEY = 'ghp_example0000000000example0000000000'
  const root = (said: object, options: PluginOptions = {}): StoredSpan['attributes'] =>
    only(told([session(said), ...WORK], options), 'agent').attributes

  test('is masked: texts, names, and values under the name of a secret', () => {
    const written = root({
      tags: [`is ${KEY}`],
      user_id: KEY,
      metadata: { password: 'hunter2', pin_token: 4711, [KEY]: 1, note: `with ${KEY}` },
      attributes: { api_key: 'hunter2', [KEY]: true, url: 'postgres://app:hunter2@db/shop' },
    })
    expect(JSON.stringify(written)).not.toMatch(/ghp_example|hunter2|4711/)
    expect(written).toMatchObject({ 'tag.tags': ['is [REDACTED]'], 'user.id': '[REDACTED]', api_key: '[REDACTED]' })
    expect(JSON.parse(String(written['metadata']))).toEqual({
      password: '[REDACTED]',
      pin_token: '[REDACTED]',
      '[REDACTED]': 1,
      note: 'with [REDACTED]',
    })
  })

  test('cannot replace our attributes, and a line reports it', () => {
    const ours = {
      'gen_ai.request.model': 'forged',
      'hermes.turn.tokens.total': 1,
      'session.id': 'forged',
      'llm.token_count.prompt': 9,
      'user.id': 'forged',
      metadata: 'forged',
      'error.type': 'forged',
      'openinference.span.kind': 'LLM',
    }
    const plugin = told([session({ attributes: { ...ours, mine: 1 } }), prompt({}), ...WORK])
    for (const span of spansOf(plugin)) {
      expect(JSON.stringify(span.attributes)).not.toMatch(/forged/)
      expect(span.attributes).toHaveProperty('mine', 1)
      expect(span.attributes).not.toHaveProperty(['hermes.turn.tokens.total'], 1)
    }
    expect(plugin.reported).toHaveLength(Object.keys(ours).length)
    expect(plugin.reported[0]).toBe(
      'attributes: gen_ai.request.model is a name that hookspan writes itself; it is left out, choose another',
    )
  })

  test('is bounded in number and in size, and a line reports it once', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`k${at}`, at]))
    const tags = Array.from({ length: 500 }, (_, at) => `t${at}`)
    const plugin = told([
      session({ tags, metadata: many, attributes: { ...many, k1: 'x'.repeat(10_000) } }),
      prompt({ tags: ['one more'], attributes: { more: 1 } }),
      ...WORK,
    ])
    const written = attributes(plugin, 'tool.terminal')
    expect(written['tag.tags']).toHaveLength(32)
    expect(Object.keys(JSON.parse(String(written['metadata'])))).toHaveLength(32)
    expect(Object.keys(written).filter(name => /^k\d/.test(name))).toHaveLength(32)
    expect(String(written['k1']).length).toBe(200)
    expect(plugin.reported).toEqual([
      'tags: there are more than 32; the others are left out',
      'metadata: there are more than 32; the others are left out',
      'attributes: there are more than 32; the others are left out',
    ])
  })

  test('is flat: a line names what is not', () => {
    const loop: Record<string, unknown> = { ok: 'yes' }
    loop['self'] = loop
    const plugin = told([session({ metadata: loop, attributes: { list: [1], ok: Number.NaN } }), ...WORK])
    expect(only(plugin, 'agent').attributes).toMatchObject({ metadata: '{"ok":"yes"}' })
    expect(plugin.reported).toEqual([
      'metadata: self is neither text, a number nor a boolean; it is left out',
      'attributes: list is neither text, a number nor a boolean; it is left out',
      'attributes: ok is neither text, a number nor a boolean; it is left out',
    ])
  })

  test('costs no span, whatever it does', () => {
    const boom = (): never => {
      throw new Error('boom')
    }
    const hostile: readonly unknown[] = [
      new Proxy({}, { ownKeys: boom, get: boom }),
      Object.defineProperty({ fine: 1 }, 'bad', { get: boom, enumerable: true }),
      Proxy.revocable([], {}).proxy,
      'text',
      7,
      null,
      [[], {}, null, 1n],
      Object.create(null),
      JSON.parse('{"__proto__": {"polluted": true}, "constructor": "x"}'),
    ]
    for (const value of hostile) {
      const said = { tags: value, metadata: value, user_id: value, attributes: value }
      const plugin = told([session(said), prompt(said), delegated(60, said), ...WORK])
      expect(plugin.stats().hooks.error, String(typeof value)).toBe(0)
      expect(plugin.tree()).toContain('tool.terminal OK')
    }
    expect({}).not.toHaveProperty('polluted')
  })

  test('is limited to identifiers, without a user, with content switched off', () => {
    const said = {
      ...SAID,
      tags: ['beta', 'a sentence of somebody'],
      metadata: { tenant: 'acme', note: 'a sentence of somebody' },
    }
    const off = root(said, { content_capture: 'off' })
    expect(off).toMatchObject({ 'tag.tags': ['beta'], metadata: '{"tenant":"acme"}', team: 'search' })
    expect(off).not.toHaveProperty(['user.id'])
    expect(root(said, { content_capture: 'off', capture_sender_id: true })).toMatchObject({ 'user.id': 'u-17' })
  })
})
