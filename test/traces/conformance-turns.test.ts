/**
 * The cases by which the Python plugin for Hermes checks itself, in our names. Each test carries the case's number.
 *
 * Left out, because our specification decides otherwise or gives the matter to another part:
 *
 * | case        | reason                                                                                     |
 * |-------------|--------------------------------------------------------------------------------------------|
 * | 11 (old)    | the platform is never a model provider: the platform has an attribute of its own           |
 * | 38          | who blocked a tool (`blocked_by`, `decided_by`) is not in the specification                |
 * | 56          | full prompts and responses have no flags of their own: `content_capture` is one key        |
 * | 62 (old)    | no correlation id is made up when the host sends none                                      |
 * | 71          | ids are opaque: no session is read out of a turn id (an approval is looked up by its turn) |
 * | 85          | no sums of tokens per agent as a metric: they would count twice                            |
 * | 87, 88      | delivery: tests of the pipeline                                                            |
 * | 89 (header) | there is no hook that asks for request headers; `traceparent()` is the way                 |
 * | 90 (points) | no metrics of whole sessions: their turns count                                            |
 * | 94–96       | cost                                                                                       |
 * | 100         | pings of MCP servers are no hooks of the contract                                          |
 *
 * Numbers that are not in either list (7, 17, 22, …) are not cases.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { feedSteps, type Step, told } from '../support/feed.ts'
import { all, answered, asked, attributes, began, only, parentOf, TURN, text, used } from './scenes.ts'

const THREE_LEVELS: readonly Step[] = (() => {
  const [pre, post] = asked(100) as [Step, Step]
  return [...began(), pre, ...used(120), post, ...answered(300)]
})()

const THREE_LEVELS_TREE = text`
  agent OK
    llm.qwen3 OK
      api.qwen3 OK
        tool.terminal OK
`

describe('the tree', () => {
  test('case 1: has a root and its loop', () => {
    const plugin = told([...began(), ...answered(100)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
    `)
    expect(only(plugin, 'agent')).not.toHaveProperty('parentSpanId')
  })

  test('case 2: puts the request below the loop without a session start, too', () => {
    const [, turnStart] = began() as [Step, Step]
    const plugin = told([turnStart, ...asked(100), [300, 'post_llm_call', TURN]])
    expect(parentOf(plugin, only(plugin, 'api.qwen3'))?.name).toBe('llm.qwen3')
  })

  test('case 3: nests tool, request, loop, root', () => {
    expect(told(THREE_LEVELS).tree()).toBe(THREE_LEVELS_TREE)
  })

  test('case 4: puts two tools into one open request', () => {
    const [pre, post] = asked(100) as [Step, Step]
    const files = { tool_name: 'file_read', tool_call_id: 'c2', args: { path: '/tmp/foo' } }
    const plugin = told([...began(), pre, ...used(110), ...used(170, files), post, ...answered(300)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 OK
            tool.terminal OK
            tool.file_read OK
    `)
  })

  test('cases 5 and 99: accepts every hook in a context of its own, with two sessions interleaved', async () => {
    const plugin = createTestPlugin()
    const storage = new AsyncLocalStorage<number>()
    const other = THREE_LEVELS.map(([at, hook, payload]): Step => [at, hook, { ...payload, session_id: 's2' }])
    const steps = THREE_LEVELS.flatMap((step, index) => [step, other[index] as Step])
    await Promise.all(
      steps.map(
        (step, index) =>
          new Promise<void>(resolve => {
            storage.run(index, () => setImmediate(() => resolve(feedSteps(plugin, [step]))))
          }),
      ),
    )
    expect(plugin.tree()).toBe(`${THREE_LEVELS_TREE}\n\n${THREE_LEVELS_TREE}`)
    for (const id of ['s1', 's2']) {
      expect(plugin.spans().filter(span => span.attributes['session.id'] === id)).toHaveLength(4)
    }
  })

  test('case 6: marks the root of a turn whose session start was never seen', () => {
    const [, turnStart] = began({ is_first_turn: false }) as [Step, Step]
    const plugin = told([turnStart, ...asked(100), ...answered(300)])
    expect(plugin.tree({ attributes: ['hermes.session.synthesized'] })).toBe(text`
      agent OK [hermes.session.synthesized=true]
        llm.qwen3 OK
          api.qwen3 OK
    `)
    expect(attributes(told(THREE_LEVELS), 'agent')).not.toHaveProperty('hermes.session.synthesized')
  })

  test('cases 97 and 98: ignores an end of nothing, and ends everything open at a shutdown', async () => {
    const plugin = told([
      [0, 'post_llm_call', TURN],
      [1, 'on_session_end', TURN],
      ...THREE_LEVELS.slice(0, 4),
      [200, 'post_tool_call', { ...TURN, tool_name: 'unheard', tool_call_id: 'c7' }],
    ])
    expect(plugin.stats()).toMatchObject({ spansOpen: 4, turnsOpen: 1 })
    await plugin.shutdown()
    expect(plugin.tree()).toBe(text`
      agent UNSET (incomplete: shutdown)
        llm.qwen3 UNSET (incomplete: shutdown)
          api.qwen3 UNSET (incomplete: shutdown)
            tool.terminal UNSET (incomplete: shutdown)
    `)
    expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
  })

  test('case 8: accepts every hook and creates nothing if switched off', () => {
    const plugin = createPluginIn(
      { enabled: false, local_log: false },
      { env: {}, home: '/nonexistent', isReplay: true },
    )
    for (const [at, hook, payload] of THREE_LEVELS) expect(plugin.emitUntyped(hook, payload, { at })).toBeUndefined()
    expect(plugin.stats()).toMatchObject({ hooks: { ok: 0 }, spansOpen: 0 })
  })
})

describe('the root', () => {
  test.each([
    [9, { session_type: 'cron' }, 'cron'],
    [10, { job_id: 'j123' }, 'cron'],
  ])('case %i: is named after a scheduled session', (_case, start, name) => {
    const plugin = told([[0, 'on_session_start', { session_id: 's1', ...start }], ...answered(100).slice(1)])
    expect(plugin.spans().map(span => span.name)).toEqual([name])
  })

  test('case 10: has the id of the job', () => {
    const plugin = told([[0, 'on_session_start', { session_id: 's1', job_id: 'j123' }], ...answered(100).slice(1)])
    expect(attributes(plugin, 'cron')).toMatchObject({ 'hermes.cron.job_id': 'j123', 'hermes.session.kind': 'cron' })
  })

  test('cases 11 and 13: does not treat a platform as a provider, and has none without requests', () => {
    const root = attributes(told([...began({ platform: 'telegram' }), ...answered(100)]), 'agent')
    expect(root).toMatchObject({
      'session.id': 's1',
      'hermes.session.id': 's1',
      'gen_ai.conversation.id': 's1',
      'gen_ai.operation.name': 'invoke_agent',
      'hermes.platform': 'telegram',
    })
    for (const name of ['llm.provider', 'gen_ai.provider.name', 'gen_ai.system', 'gen_ai.response.model']) {
      expect(root).not.toHaveProperty(name)
    }
  })

  test('case 12: has the provider and the model that answered, from the requests', () => {
    const request = asked(100, { provider: 'anthropic' }, { response_model: 'claude-x' })
    const plugin = told([...began({ platform: 'telegram' }), ...request, ...answered(300)])
    expect(attributes(plugin, 'agent')).toMatchObject({
      'llm.provider': 'anthropic',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.response.model': 'claude-x',
    })
  })

  test.each([
    [14, { completed: true, interrupted: false }, 'ok', 'completed'],
    [15, { completed: false, interrupted: true }, 'ok', 'interrupted'],
    [16, { completed: false, interrupted: false }, 'error', 'incomplete'],
  ])('case %i: maps the end %o to %s, %s', (_case, end, status, finalStatus) => {
    const plugin = told([...began(), [100, 'on_session_end', { ...TURN, ...end }]])
    expect(only(plugin, 'agent').status).toBe(status)
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe(finalStatus)
  })

  test('case 89: has the traceparent of the innermost span of an open turn, and none afterwards', () => {
    const plugin = told([])
    expect(plugin.traceparent(TURN)).toBeUndefined()
    feedSteps(plugin, THREE_LEVELS.slice(0, 3))
    const during = plugin.traceparent(TURN)
    feedSteps(plugin, THREE_LEVELS.slice(3))
    const { traceId, spanId } = only(plugin, 'api.qwen3')
    expect(during).toBe(`00-${traceId}-${spanId}-01`)
    expect(plugin.traceparent(TURN)).toBeUndefined()
  })

  test('case 90: numbers turns until the session is finalized, and then from 1 again', () => {
    const turn = (number: number): Step[] => [
      [number * 1000, 'pre_llm_call', { session_id: 's1', turn_id: `t${number}` }],
      [number * 1000 + 500, 'on_session_end', { session_id: 's1', turn_id: `t${number}`, completed: true }],
    ]
    const plugin = told([
      ...[1, 2, 3].flatMap(turn),
      [4000, 'on_session_finalize', { session_id: 's1', platform: 'cli', reason: 'shutdown' }],
      ...turn(5),
    ])
    expect(all(plugin, 'agent').map(root => root.attributes['hermes.turn.number'])).toEqual([1, 2, 3, 1])
  })

  test.each([
    ['both sessions', { old_session_id: 's1', new_session_id: 's2' }],
    ['only the new one', { session_id: 's2' }],
  ])('case 92: names its predecessor after a reset that names %s', (_what, reset) => {
    const plugin = told([
      ...began(),
      ...answered(100),
      [200, 'on_session_finalize', { session_id: 's1', reason: 'reset' }],
      [210, 'on_session_reset', { ...reset, reason: 'user' }],
      [300, 'pre_llm_call', { session_id: 's2', turn_id: 'n1' }],
      [400, 'on_session_end', { session_id: 's2', turn_id: 'n1', completed: true }],
    ])
    const [old, replaced] = all(plugin, 'agent')
    expect(replaced?.attributes['hermes.session.previous_id']).toBe('s1')
    expect(replaced?.links).toEqual([
      { traceId: old?.traceId, spanId: old?.spanId, attributes: { 'hermes.link': 'previous_session' } },
    ])
  })
})
