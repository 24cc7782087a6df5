/** Records that come twice, late, or without the company that they expect. */
import { describe, expect, test } from 'vitest'
import { createTestPlugin } from '../../src/testing.ts'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import {
  all,
  answered,
  asked,
  attributes,
  began,
  childTurn,
  delegated,
  only,
  series,
  seriesText,
  TURN,
  text,
  used,
} from '../traces/scenes.ts'

const NEXT = { session_id: 's1', turn_id: 't2' } as const

function sideCall(at: number, ids: object = TURN): [Step, Step] {
  const call = { ...ids, api_request_id: 'side', aux_task: 'title' }
  return [
    [at, 'pre_auxiliary_call', call],
    [at + 100, 'post_auxiliary_call', call],
  ]
}

describe('a side call that began before its turn did', () => {
  const [start, end] = sideCall(10)

  test('opens the root of the turn that it names', () => {
    const plugin = told([start, ...began().slice(1), end, ...answered(300)])
    expect(plugin.tree()).toBe(text`
      agent OK
        aux.title OK
        llm.qwen3 OK
    `)
  })

  test('leaves the attributes of the session start to it', () => {
    const plugin = told([start, [15, 'on_session_start', { ...TURN, platform: 'cli' }], end, ...answered(300)])
    expect(only(plugin, 'agent').attributes).toMatchObject({ 'hermes.platform': 'cli' })
  })

  test('opens no turn if it names none, and is no part of the next one', () => {
    const [loose, returned] = sideCall(10, { session_id: 's1' })
    const plugin = told([loose, ...began().slice(1), returned, ...answered(300)])
    expect(plugin.tree()).toBe(text`
      aux.title OK

      agent OK
        llm.qwen3 OK
    `)
    expect(plugin.stats()).toMatchObject({ turnsOpen: 0, spansOpen: 0 })
  })

  test('is recognised when repeated if it names no turn', () => {
    const loose = sideCall(10, { session_id: 's1' })
    const plugin = told([...loose, ...loose])
    expect(plugin.tree()).toBe('aux.title OK')
    expect(plugin.stats()).toMatchObject({ hooks: { ok: 2, duplicate: 2 }, turnsOpen: 0, spansOpen: 0 })
  })
})

describe('a repeated record of a finished turn', () => {
  const over = [...began(), ...asked(100), ...used(210), delegated(300), ...answered(400)]
  const gone: Step = [500, 'on_session_finalize', { session_id: 's1', reason: 'shutdown' }]
  const repeats = over.map((_, place) => [over[place]?.[0], over[place]?.[1], place] as const)
  const withoutTurnIds = over.map(([at, hook, payload]): Step => {
    const { turn_id: _, parent_turn_id: __, ...rest } = payload as { turn_id?: string; parent_turn_id?: string }
    return [at, hook, rest]
  })

  describe.each([
    ['', over, []],
    [' after the end of its session', over, [gone]],
    [', whose turn has no id', withoutTurnIds, []],
    [', whose turn has no id, after the end of its session', withoutTurnIds, [gone]],
  ])('leaves nothing behind%s', (_where, steps, end) => {
    test.each(repeats)('is ignored: %d %s', (_at, _hook, place) => {
      const plugin = told([...steps, ...end])
      const before = { tree: plugin.tree(), ...plugin.stats() }
      feedSteps(plugin, [steps[place] as Step])
      const { spansOpen, turnsOpen } = plugin.stats()
      expect({ tree: plugin.tree(), spansOpen, turnsOpen }).toEqual({
        tree: before.tree,
        spansOpen: before.spansOpen,
        turnsOpen: before.turnsOpen,
      })
    })
  })

  test('has its own end if both arrive after the end of a session whose turn has no id', async () => {
    const [start, end] = used(210, { turn_id: undefined }) as [Step, Step]
    const plugin = told([...withoutTurnIds.slice(0, 4), ...withoutTurnIds.slice(-2), gone, start, end])
    await plugin.shutdown()
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 OK
        tool.terminal OK
    `)
  })

  test('is a turn of its own if it starts one, because a torn-down session is a new one', () => {
    const plugin = told([...over, gone, [600, 'pre_llm_call', { ...TURN, model: 'qwen3' }], ...answered(700)])
    expect(all(plugin, 'agent').map(({ endAt }) => endAt - START_AT)).toEqual([410, 710])
  })

  test('does not absorb the start of the next turn', () => {
    const [tool] = used(210) as [Step, Step]
    const next: Step[] = [
      [500, 'on_session_start', { session_id: 's1', platform: 'telegram' }],
      [510, 'pre_llm_call', { ...NEXT, model: 'qwen3' }],
      ...answered(600, NEXT),
    ]
    const plugin = told([...began(), ...used(210), ...answered(400), tool, ...next])
    expect(all(plugin, 'agent')[1]?.attributes).toMatchObject({ 'hermes.platform': 'telegram', 'hermes.turn.id': 't2' })
  })
})

describe('a late record of a finished turn', () => {
  const end: Step = [200, 'post_auxiliary_call', { ...TURN, api_request_id: 'side', aux_task: 'title' }]

  test('does not give its id to the next turn', () => {
    const plugin = told([
      ...began(),
      ...answered(100),
      [150, 'on_session_start', { session_id: 's1' }],
      end,
      [250, 'pre_llm_call', { ...NEXT, model: 'qwen3' }],
      ...answered(300, NEXT),
    ])
    expect(plugin.tree({ attributes: ['hermes.turn.id', 'hermes.turn.final_status'] })).toBe(text`
      agent OK [hermes.turn.id=t1, hermes.turn.final_status=completed]
        llm.qwen3 OK [hermes.turn.id=t1]

      agent OK [hermes.turn.id=t2, hermes.turn.final_status=completed]
        llm.qwen3 OK [hermes.turn.id=t2]
    `)
  })

  test('opens no second root if it is a session start', () => {
    const [start, ...rest] = began() as [Step, Step]
    const plugin = told([...rest, ...answered(100), start])
    expect(plugin.stats()).toMatchObject({ turnsOpen: 0, spansOpen: 0 })
    expect(all(plugin, 'agent')).toHaveLength(1)
  })

  test('finds the turn by its id if it names no session', () => {
    const prompt: Step = [150, 'pre_approval_request', { turn_id: 't1', tool_call_id: 'c1', pattern_key: 'rm' }]
    const answer: Step = [
      160,
      'post_approval_response',
      { turn_id: 't1', tool_call_id: 'c1', pattern_key: 'rm', choice: 'once' },
    ]
    const plugin = told([...began(), ...answered(200), prompt, answer])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
        approval.rm OK
    `)
    expect(attributes(plugin, 'approval.rm')).toHaveProperty('session.id', 's1')
  })

  test('finds the turn by its id if the session has another by now', () => {
    const renamed = { session_id: 's1-compressed', turn_id: 't1' }
    const plugin = told([...began(), ...asked(50, { ...renamed }), ...answered(200, renamed), ...used(140, renamed)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 OK
        tool.terminal OK
    `)
  })

  test('is an attempt of its own', () => {
    const [first] = asked(50, { retry_count: undefined }) as [Step, Step]
    const [second] = asked(90, { retry_count: undefined }) as [Step, Step]
    const failed: Step = [60, 'api_request_error', { ...TURN, api_request_id: 'r1', error: { type: 'Timeout' } }]
    const plugin = told([...began(), first, failed, ...answered(200), second])
    feedSteps(plugin, [[210, 'post_api_request', { ...TURN, api_request_id: 'r1', model: 'qwen3' }]])
    expect(all(plugin, 'api.qwen3').map(span => span.attributes['hermes.api.attempt'])).toEqual([0, 1])
  })

  test('is ended if another start replaces it', async () => {
    const plugin = told([
      ...began(),
      ...answered(100),
      [50, 'pre_api_request', { ...TURN, api_request_id: 'r1', retry_count: 0, model: 'qwen3' }],
      [60, 'pre_api_request', { ...TURN, api_request_id: 'r1', retry_count: 1, model: 'qwen3' }],
    ])
    await plugin.shutdown()
    expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
    expect(all(plugin, 'api.qwen3').map(span => span.attributes['hermes.span.incomplete'])).toEqual([
      'superseded',
      'shutdown',
    ])
  })
})

describe('a turn start that arrives after the next one', () => {
  const [, first] = began() as [Step, Step]
  const next: Step = [100, 'pre_llm_call', { ...NEXT, model: 'qwen3' }]

  test('does not interrupt it', () => {
    const plugin = told([next, first, ...answered(300, NEXT), next])
    const statuses = all(plugin, 'agent').map(({ attributes: of }) => [
      of['hermes.turn.id'],
      of['hermes.turn.final_status'],
    ])
    expect(statuses).toEqual([['t2', 'completed']])
    expect(plugin.stats().turnsOpen).toBe(1)
  })
})

describe('a repeated prompt', () => {
  const prompt = { ...TURN, model: 'qwen3', user_message: 'hello' }
  const oneLoop = text`
    agent OK
      llm.qwen3 OK
  `

  test.each([
    ['the host sent the times', {}],
    ['the host sent no times', { at: undefined }],
  ])('is a duplicate while its loop is open (%s)', async (_which, meta) => {
    const again: Step = [60, 'pre_llm_call', prompt, meta]
    const plugin = told([...began(), again, again, ...answered(300)])
    expect(plugin.tree()).toBe(oneLoop)
    expect(plugin.stats().hooks).toMatchObject({ ok: 4, duplicate: 2 })
    expect(await seriesText(plugin, 'hookspan.spans.incomplete')).toEqual([])
  })

  test('is a duplicate without the name of the model', () => {
    const plugin = told([...began(), [60, 'pre_llm_call', { ...TURN }], ...answered(300)])
    expect(plugin.tree()).toBe(oneLoop)
    expect(plugin.stats().hooks.duplicate).toBe(1)
  })

  test('does not interrupt another turn of its session', () => {
    const plugin = told([...began(), [60, 'pre_tool_call', { ...TURN, tool_call_id: 'c1', tool_name: 'terminal' }]], {
      host: 'hermes',
    })
    feedSteps(plugin, [
      [100, 'pre_llm_call', { ...NEXT, model: 'qwen3' }],
      [10_000, 'pre_llm_call', prompt],
      ...used(10_100, { ...NEXT, tool_call_id: 'c2' }),
      ...answered(10_300, NEXT),
    ])
    const [first] = all(plugin, 'agent')
    expect(first?.attributes).toMatchObject({ 'hermes.turn.id': 't2', 'hermes.turn.final_status': 'completed' })
    expect(plugin.stats().hooks.duplicate).toBe(1)
  })

  test('is a duplicate after the end of its loop if its time or delivery id identifies it', () => {
    const [start, first] = began() as [Step, Step]
    const named: Step = [first[0], first[1], first[2] ?? {}, { delivery_id: 'd1' }]
    const [answer, end] = answered(300) as [Step, Step]
    const plugin = told([start, named, answer, first, [310, 'pre_llm_call', prompt, { delivery_id: 'd1' }], end])
    expect(plugin.tree()).toBe(oneLoop)
    expect(plugin.stats().hooks.duplicate).toBe(2)
  })

  test('begins another loop after the end of the first', () => {
    const [answer] = answered(100) as [Step]
    const plugin = told([...began(), answer, [150, 'pre_llm_call', prompt], ...answered(300)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
        llm.qwen3 OK
    `)
    expect(plugin.stats().hooks.duplicate).toBe(0)
  })
})

describe('an end without a start', () => {
  test.each([
    ['post_auxiliary_call', 'hermes.api.error.count', { api_request_id: 'r1', error_type: 'Timeout' }],
    ['post_api_request', 'hermes.tokens.input', { api_request_id: 'r1', usage: { prompt_tokens: 1 } }],
    ['post_approval_response', 'hermes.approval.count', { tool_call_id: 'c1', choice: 'once' }],
    ['post_control_hook', 'hermes.hook.runs', { hook_run_id: 'h1', verdict: 'block' }],
  ])('counts once when repeated: %s', async (hook, counter, payload) => {
    const end: Step = [100, hook, { ...TURN, ...payload }]
    const plugin = told([end, end])
    expect((await series(plugin, counter)).reduce((sum, { value }) => sum + value, 0)).toBe(1)
  })
})

describe('a repeated first attempt of a request', () => {
  const request = { ...TURN, api_request_id: 'r1', model: 'qwen3' }
  const failure = { error: { type: 'RateLimit' }, retryable: true }
  const tree = text`
    agent OK
      llm.qwen3 OK
        api.qwen3 ERROR RateLimit
        api.qwen3 OK
  `

  function attempts(numbered: boolean, again: (first: Step, failed: Step) => Step) {
    const number = (retry_count: number) => (numbered ? { retry_count } : {})
    const first: Step = [100, 'pre_api_request', { ...request, ...number(0) }]
    const failed: Step = [150, 'api_request_error', { ...request, ...number(0), ...failure }]
    const second: Step = [200, 'pre_api_request', { ...request, ...number(1) }]
    const done: Step = [300, 'post_api_request', { ...request, ...number(1) }]
    return told([...began(), first, failed, second, again(first, failed), done, ...answered(400)])
  }

  test.each([true, false])('does not end the second attempt by its start (numbered by the host: %s)', numbered => {
    expect(attempts(numbered, first => first).tree()).toBe(tree)
  })

  test.each([true, false])(
    'does not fail the second attempt by its failure (numbered by the host: %s)',
    async numbered => {
      const plugin = attempts(numbered, (_, failed) => failed)
      expect(plugin.tree()).toBe(tree)
      expect(await seriesText(plugin, 'hermes.retry.count')).toEqual(['model=qwen3 provider=unknown → 1'])
    },
  )

  test.each([true, false])(
    'counts its failure once if the turn broke off in the second (numbered by the host: %s)',
    async numbered => {
      const number = (retry_count: number) => (numbered ? { retry_count } : {})
      const first: Step = [100, 'pre_api_request', { ...request, ...number(0) }]
      const failed: Step = [150, 'api_request_error', { ...request, ...number(0), ...failure }]
      const second: Step = [200, 'pre_api_request', { ...request, ...number(1) }]
      const broken: Step = [250, 'on_session_end', { ...TURN, interrupted: true }]
      const plugin = told([...began(), first, failed, second, broken, failed])
      expect(await seriesText(plugin, 'hermes.retry.count')).toEqual(['model=qwen3 provider=unknown → 1'])
    },
  )
})

describe('tools without an id', () => {
  test('creates two spans for two calls within one millisecond', async () => {
    const call = { tool_call_id: undefined }
    const [[at, , start = {}], [, , end = {}]] = used(100, call) as [Step, Step]
    const twice: Step[] = [
      [at, 'pre_tool_call', start],
      [at, 'post_tool_call', end],
      [at, 'pre_tool_call', start],
      [at, 'post_tool_call', end],
    ]
    const plugin = told([...began(), ...twice, ...answered(300)])
    expect(all(plugin, 'tool.terminal')).toHaveLength(2)
    expect(await seriesText(plugin, 'hermes.tool.calls')).toEqual(['tool_name=terminal outcome=completed → 2'])
  })
})

describe('a background child that finishes with its parent', () => {
  test('has returned if its stop arrives after the end of the parent', async () => {
    const stopped = { ...delegated(0)[2], child_status: 'completed' }
    const plugin = told([
      ...began(),
      delegated(100),
      ...childTurn(200),
      ...answered(400),
      [450, 'subagent_stop', stopped],
    ])
    expect(plugin.stats().hooks.duplicate).toBe(0)
    expect(await seriesText(plugin, 'hermes.subagent.count')).toEqual(['role=researcher status=ok → 1'])
  })
})

describe('an end that arrives before its turn', () => {
  const call = { ...TURN, api_request_id: 'r1', model: 'qwen3', usage: { prompt_tokens: 100, completion_tokens: 10 } }
  const start: Step = [100, 'pre_api_request', call]
  const end: Step = [200, 'post_api_request', call]

  test.each([
    ['once', [end, start]],
    ['again after its start', [end, start, end]],
    ['again when its turn has begun otherwise', [end, ...used(50), end, start, end]],
    ['again after its turn', [end, start, ...answered(400), end]],
  ])('counts in the turn that its start opens, and once when repeated %s', async (_when, steps) => {
    const plugin = told([...steps, ...answered(400)])
    expect(all(plugin, 'api.qwen3')).toHaveLength(1)
    expect(attributes(plugin, 'agent')).toMatchObject({
      'hermes.turn.tokens.total': 110,
      'hermes.turn.api_call_count': 1,
    })
    expect((await series(plugin, 'hermes.tokens.input')).map(({ value }) => value)).toEqual([100])
  })

  test('does not end the request of another turn if requests have no ids', async () => {
    const [first, second] = [{ session_id: 's1', api_call_count: 1, usage: { prompt_tokens: 100 } }, NEXT]
    const plugin = told([
      [100, 'post_api_request', { ...first, turn_id: 't1' }],
      [200, 'pre_llm_call', { ...second, model: 'qwen3' }],
      [300, 'post_api_request', { ...first, ...second }],
      ...answered(400, NEXT),
    ])
    expect((await series(plugin, 'hermes.tokens.input')).map(({ value }) => value)).toEqual([200])
  })
})

test('is one delegation if it ends before its start and once more', async () => {
  const child = { parent_session_id: 's1', parent_turn_id: 't1', child_session_id: 'c1', child_status: 'ok' }
  const end: Step = [200, 'subagent_stop', child]
  const again: Step[] = [
    [700, 'subagent_start', child],
    [800, 'subagent_stop', child],
  ]
  const plugin = told([...began(), ...answered(150), end, [100, 'subagent_start', child], end])
  expect(plugin.stats().spansOpen).toBe(0)
  expect((await series(plugin, 'hermes.subagent.count')).map(({ value }) => value)).toEqual([1])
  feedSteps(plugin, again)
  expect((await series(plugin, 'hermes.subagent.count')).map(({ value }) => value)).toEqual([2])
})

describe('a start that is repeated after the end of a later attempt', () => {
  const request = { ...TURN, api_request_id: 'r2', api_call_count: 2, model: 'qwen3' }
  const start: Step = [100, 'pre_api_request', { ...request, retry_count: 0 }]
  const end: Step = [100, 'post_api_request', { ...request, retry_count: 2, api_duration: 0.005 }]

  test('is a duplicate: it opens no third attempt', () => {
    const plugin = told([...began(), start, end, [100, 'on_session_end', { ...TURN, failed: true }], start])
    expect(plugin.tree()).toBe(text`
      agent ERROR failed
        llm.qwen3 UNSET (incomplete: turn_ended)
          api.qwen3 OK (retroactive)
          api.qwen3 UNSET (incomplete: superseded)
    `)
    expect(plugin.stats()).toMatchObject({ hooks: { duplicate: 1 }, spansOpen: 0 })
  })
})

test('is late without a time if a later attempt has ended: it opens no span', () => {
  const plugin = createTestPlugin({ host: 'agent' })
  const request = { ...TURN, api_request_id: 'r2', api_call_count: 2, model: 'qwen3' }
  const failed = { ...request, error: { type: 'RateLimit' }, retryable: true }
  plugin.emit('pre_llm_call', { ...TURN, model: 'qwen3' })
  plugin.emit('pre_api_request', { ...request, retry_count: 0 })
  plugin.emit('api_request_error', { ...failed, retry_count: 0 })
  plugin.emit('api_request_error', { ...failed, retry_count: 1 })
  plugin.emit('pre_api_request', { ...request, retry_count: 2 })
  plugin.emit('post_api_request', { ...request, retry_count: 2 })
  plugin.emit('pre_api_request', { ...request, retry_count: 1 })
  plugin.emit('post_llm_call', { ...TURN, model: 'qwen3' })
  plugin.emit('on_session_end', { ...TURN, completed: true })
  plugin.emit('pre_api_request', { ...request, retry_count: 1 })
  expect(plugin.stats()).toMatchObject({ hooks: { duplicate: 2 }, turnsOpen: 0, spansOpen: 0 })
  expect(plugin.tree()).toBe(text`
    agent OK
      llm.qwen3 OK
        api.qwen3 ERROR RateLimit
        api.qwen3 ERROR RateLimit
        api.qwen3 OK
  `)
})

test('begins no second turn as a late prompt without a time if the turn that it names has ended without one', async () => {
  const plugin = createTestPlugin({ host: 'agent' })
  plugin.emit('on_session_start', { session_id: 's1', model: 'qwen3' })
  plugin.emit('pre_api_request', { ...TURN, api_request_id: 'r1', model: 'qwen3' })
  plugin.emit('post_api_request', { ...TURN, api_request_id: 'r1' })
  plugin.emit('post_llm_call', TURN)
  plugin.emit('on_session_end', { ...TURN, completed: true })
  plugin.emit('pre_llm_call', { ...TURN, model: 'qwen3' })
  await plugin.shutdown()
  expect(plugin.tree()).toBe(text`
    agent OK
      api.qwen3 OK
      llm.qwen3 UNSET (incomplete: shutdown)
  `)
})

test('counts a success that follows a late error: it is of a later attempt, also without a number', async () => {
  const request = { ...TURN, api_request_id: 'r1', model: 'qwen3' }
  const plugin = told([
    ...began(),
    [100, 'pre_api_request', request],
    ...answered(200),
    [110, 'api_request_error', { ...request, error: { type: 'RateLimit' }, retryable: true }],
    [120, 'post_api_request', { ...request, usage: { prompt_tokens: 7, output_tokens: 1 } }],
  ])
  expect((await series(plugin, 'hermes.tokens.input')).map(({ value }) => value)).toEqual([7])
})

test('counts a delegation once whose repeated end comes before and after a start without a time', async () => {
  const plugin = createTestPlugin({ host: 'agent' })
  const child = { parent_session_id: 's1', parent_turn_id: 't1', child_session_id: 'c1', tool_call_id: 'k1' }
  feedSteps(plugin, [...began(), ...answered(150), [200, 'subagent_stop', { ...child, child_status: 'ok' }]])
  plugin.emit('subagent_start', child)
  feedSteps(plugin, [[200, 'subagent_stop', { ...child, child_status: 'ok' }]])
  expect((await series(plugin, 'hermes.subagent.count')).map(({ value }) => value)).toEqual([1])
  expect(plugin.stats().spansOpen).toBe(0)
})

test('counts a failure once that comes before its turn and again after its start', async () => {
  const request = { ...TURN, api_request_id: 'r1', retry_count: 0 }
  const failed: Step = [106, 'api_request_error', { ...request, error: { type: 'RateLimit' }, retryable: true }]
  const plugin = told([failed, ...began(), [103, 'pre_api_request', request], failed, ...answered(300)])
  expect((await series(plugin, 'hermes.api.error.count')).map(({ value }) => value)).toEqual([1])
})

test('interrupts nothing with a late prompt that is older than the prompt of the open turn', () => {
  const plugin = told([
    [0, 'on_session_start', { session_id: 's1', model: 'qwen3' }],
    [20, 'pre_llm_call', { session_id: 's1', turn_id: 't2', model: 'qwen3' }],
    [10, 'pre_llm_call', { session_id: 's1', turn_id: 't1', model: 'qwen3' }],
    [30, 'post_llm_call', { session_id: 's1', turn_id: 't2', model: 'qwen3' }],
    [40, 'on_session_end', { session_id: 's1', turn_id: 't2', completed: true }],
  ])
  expect(plugin.tree()).toBe(text`
    agent OK
      llm.qwen3 OK
  `)
})

test('finds the ended turn of late records whose session id has changed since', () => {
  const request = { turn_id: 't1', api_request_id: 'r1', model: 'qwen3' }
  const later = { turn_id: 't1', api_request_id: 'r2', model: 'qwen3', session_id: 's2' }
  const plugin = told([
    ...began(),
    ...answered(100),
    [200, 'pre_api_request', { ...request, session_id: 's1' }],
    [210, 'pre_api_request', later],
    [220, 'post_api_request', { ...request, session_id: 's1' }],
    [230, 'post_api_request', later],
    [240, 'pre_api_request', { ...later, api_request_id: 'r3' }],
    [250, 'post_api_request', { ...later, api_request_id: 'r3' }],
  ])
  expect(plugin.tree()).toBe(text`
    agent OK
      llm.qwen3 OK
      api.qwen3 OK
      api.qwen3 OK
      api.qwen3 OK
  `)
})

test('begins no second turn with a late prompt that is repeated after its answer', () => {
  const first: Step = [3, 'pre_llm_call', { session_id: 's1', turn_id: 't1', model: 'qwen3' }]
  const plugin = told([
    [1, 'on_session_start', { session_id: 's1', model: 'qwen3' }],
    [6, 'post_llm_call', { session_id: 's1', turn_id: 't1', model: 'qwen3' }],
    [15, 'pre_llm_call', { session_id: 's1', turn_id: 't2', model: 'qwen3' }],
    first,
    first,
  ])
  expect(plugin.stats()).toMatchObject({ hooks: { duplicate: 1 }, spansOpen: 2 })
})
