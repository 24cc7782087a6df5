/** Child agents. */
import { describe, expect, test } from 'vitest'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import { createLivePlugin } from './live-plugin.ts'
import {
  all,
  answered,
  asked,
  attributes,
  began,
  childTurn,
  delegated,
  only,
  parentOf,
  TURN,
  text,
  used,
} from './scenes.ts'

const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

function stopped(at: number, extra: object = {}): Step {
  return [at, 'subagent_stop', { parent_session_id: 's1', child_session_id: 'C', child_status: 'completed', ...extra }]
}

function rootOf(plugin: ReturnType<typeof told>, session: string) {
  return all(plugin, 'agent').find(span => span.attributes['hermes.session.id'] === session)
}

describe('one connected trace', () => {
  test('has one session, for backends that file it under the session of the first span they receive', () => {
    const plugin = told([...began(), delegated(100), ...childTurn(110, 'C', 'ct1'), stopped(460), ...answered(500)])
    const [own, traces] = ['hermes.session.id', 'session.id'].map(
      name => new Set(plugin.spans().map(({ attributes }) => attributes[name])),
    )
    expect(own).toEqual(new Set(['C', 's1']))
    expect(traces).toEqual(new Set(['s1']))
    expect(rootOf(plugin, 'C')?.attributes['gen_ai.conversation.id']).toBe('C')
  })

  test('spans three levels, with the tokens of all of them on the root', () => {
    const usage = { prompt_tokens: 10, output_tokens: 1 }
    const [, childLoop, childAsk, childAnswer, , childEnd] = childTurn(110, 'C', 'ct1', usage)
    const grandchild: Step = [
      250,
      'subagent_start',
      { parent_session_id: 'C', parent_turn_id: 'ct1', child_session_id: 'G', child_role: 'leaf' },
    ]
    const plugin = told([
      ...began(),
      delegated(100),
      ...([childLoop, childAsk, childAnswer] as Step[]),
      grandchild,
      ...childTurn(300, 'G', 'gt1', usage),
      [420, 'subagent_stop', { child_session_id: 'G', child_status: 'completed' }],
      [450, ...(childEnd as Step).slice(1)] as unknown as Step,
      stopped(460),
      ...answered(500),
    ])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          subagent.researcher OK
            agent OK
              llm.small UNSET (incomplete: turn_ended)
                api.small OK
                subagent.leaf OK
                  agent OK
                    llm.small OK
                      api.small OK
    `)
    expect(rootOf(plugin, 'C')?.attributes['hermes.turn.subagent_tokens.total']).toBe(11)
    expect(rootOf(plugin, 's1')?.attributes).toMatchObject({
      'hermes.turn.subagent_tokens.total': 22,
      'hermes.turn.subagent_count': 1,
    })
    expect(rootOf(plugin, 's1')?.attributes).not.toHaveProperty('hermes.turn.tokens.total')
  })

  test('is built whichever hook of the child arrives first', () => {
    const plugin = told([...began(), delegated(100), ...childTurn(200).slice(2), stopped(400), ...answered(500)])
    expect(parentOf(plugin, rootOf(plugin, 'C') ?? only(plugin, ''))?.name).toBe('subagent.researcher')
    expect(rootOf(plugin, 'C')?.attributes['hermes.session.synthesized']).toBe(true)
  })

  test('survives a stop that arrives before the child has begun', () => {
    const plugin = told([...began(), delegated(100), stopped(150), ...childTurn(200), ...answered(500)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          subagent.researcher OK
            agent OK
              llm.small OK
                api.small OK
    `)
  })

  test('survives a stop that arrives before the child has ended', () => {
    const child = childTurn(110)
    const plugin = told([
      ...began(),
      delegated(100),
      ...child.slice(0, 3),
      stopped(150),
      ...child.slice(3),
      ...answered(500),
    ])
    expect(parentOf(plugin, rootOf(plugin, 'C') ?? only(plugin, ''))?.name).toBe('subagent.researcher')
    expect(only(plugin, 'subagent.researcher').endAt).toBe(START_AT + 150)
  })

  test('includes a second turn of the child while it is delegated to', () => {
    const plugin = told([
      ...began(),
      delegated(100),
      ...childTurn(200),
      ...childTurn(400, 'C', 'ct2').slice(1),
      stopped(600),
      ...answered(700),
    ])
    expect(all(plugin, 'agent').filter(root => parentOf(plugin, root)?.name === 'subagent.researcher')).toHaveLength(2)
  })

  test('excludes a turn of the child after it has returned', () => {
    const plugin = told([
      ...began(),
      delegated(100),
      ...childTurn(200),
      stopped(400),
      ...answered(500),
      ...childTurn(600, 'C', 'ct2'),
    ])
    expect(plugin.tree().split('\n\n')).toHaveLength(2)
    expect(all(plugin, 'agent').at(-1)).not.toHaveProperty('parentSpanId')
  })

  test('excludes a turn of an unseen child, five seconds after its delegation was stopped', () => {
    const plugin = told([...began(), delegated(100), stopped(150), ...answered(200), ...childTurn(5151)])
    expect(rootOf(plugin, 'C')).not.toHaveProperty('parentSpanId')
  })
})

describe('the parent of a delegation', () => {
  const tool = (at: number, tool_name: string, tool_call_id: string): Step =>
    used(at, { tool_name, tool_call_id })[0] as Step
  const parentName = (steps: Step[], options = {}) => {
    const plugin = told([...began(), ...steps, stopped(400), ...answered(500)], options)
    return parentOf(plugin, only(plugin, 'subagent.researcher'))?.name
  }

  test('is the tool that it names', () => {
    expect(parentName([tool(50, 'one', 'c1'), tool(60, 'two', 'c2'), delegated(100, { tool_call_id: 'c1' })])).toBe(
      'tool.one',
    )
  })

  test.each(['delegate_task', 'task', 'agent', 'subagent', 'dispatch_agent', 'Task'])('is the only open %s', name => {
    expect(parentName([tool(50, name, 'c1'), tool(60, 'terminal', 'c2'), delegated(100)])).toBe(`tool.${name}`)
  })

  test('is a tool that the configuration names', () => {
    expect(parentName([tool(50, 'Spawn', 'c1'), delegated(100)])).toBe('llm.qwen3')
    expect(parentName([tool(50, 'Spawn', 'c1'), delegated(100)], { delegating_tools: ['spawn'] })).toBe('tool.Spawn')
  })

  test('is neither of two candidates: the open request, else the loop, else the root', () => {
    const two = [tool(50, 'task', 'c1'), tool(60, 'task', 'c2')]
    const request = asked(70)[0] as Step
    expect(parentName([...two, request, delegated(100)])).toBe('api.qwen3')
    expect(parentName([...two, delegated(100)])).toBe('llm.qwen3')
    expect(parentName([[90, 'post_llm_call', TURN], delegated(100)])).toBe('agent')
  })

  test('is the same if all children of a batch are reported before any runs', () => {
    const plugin = told([
      ...began(),
      tool(50, 'delegate_task', 'c1'),
      delegated(60, { child_session_id: 'A', child_role: 'a' }),
      delegated(61, { child_session_id: 'B', child_role: 'b' }),
      ...childTurn(100, 'A', 'at'),
      ...childTurn(150, 'B', 'bt'),
      stopped(300, { child_session_id: 'A' }),
      stopped(301, { child_session_id: 'B' }),
      ...used(310, { tool_name: 'delegate_task' }).slice(1),
      ...answered(400),
    ])
    expect(plugin.tree({ status: false })).toBe(text`
      agent
        llm.qwen3
          tool.delegate_task
            subagent.a
              agent
                llm.small
                  api.small
            subagent.b
              agent
                llm.small
                  api.small
    `)
  })
})

describe('a delegation and its turn', () => {
  test('finds a stop by the child, whatever turn the parent is in', () => {
    const plugin = told([
      ...began(),
      delegated(100),
      ...answered(200),
      [300, 'pre_llm_call', { ...TURN, turn_id: 't2' }],
      stopped(400, { parent_turn_id: 't2' }),
    ])
    const [first] = all(plugin, 'agent')
    expect(only(plugin, 'subagent.researcher')).toMatchObject({
      status: 'ok',
      traceId: first?.traceId,
      endAt: START_AT + 400,
    })
  })

  test('ends a delegation whose child is over with the turn', () => {
    const plugin = told([...began(), delegated(100), ...childTurn(150), ...answered(300)])
    expect(plugin.tree()).toContain('subagent.researcher UNSET (incomplete: turn_ended)')
    expect(plugin.stats().spansOpen).toBe(0)
  })

  test("includes a child's usage in the sums of a parent that ends with it, as the process does", async () => {
    const [start, prompt, request, answer] = childTurn(150, 'C', 'ct1', { prompt_tokens: 100, completion_tokens: 10 })
    const plugin = told([...began(), delegated(100), start, prompt, request, answer] as Step[])
    await plugin.shutdown()
    expect(rootOf(plugin, 's1')?.attributes).toMatchObject({
      'hermes.turn.subagent_tokens.total': 110,
      'hermes.turn.all_tokens.total': 110,
    })
  })

  test('accepts a child that has only an id of its own', () => {
    const ids = { child_session_id: undefined, child_subagent_id: 'sa-1' }
    const plugin = told([...began(), delegated(100, ids), stopped(200, ids), ...answered(300)])
    expect(attributes(plugin, 'subagent.researcher')).toMatchObject({ 'hermes.subagent.child_id': 'sa-1' })
    expect(only(plugin, 'subagent.researcher').status).toBe('ok')
  })

  test('has none on the span without a role', () => {
    const plugin = told([...began(), delegated(100, { child_role: undefined }), stopped(200)])
    expect(attributes(plugin, 'subagent')).not.toHaveProperty('gen_ai.agent.name')
  })
})

describe('a parent that is not known in time', () => {
  test("links a child that began before its delegation, and keeps the child's trace", () => {
    const child = childTurn(50)
    const plugin = told([
      ...began(),
      ...child.slice(0, 3),
      delegated(100),
      ...child.slice(3),
      stopped(300),
      ...answered(400),
    ])
    const root = rootOf(plugin, 'C')
    const { traceId, spanId } = only(plugin, 'subagent.researcher')
    expect(root).not.toHaveProperty('parentSpanId')
    expect(root?.traceId).not.toBe(traceId)
    expect(root?.links).toMatchObject([{ traceId, spanId }])
  })

  test.each(['link', 'nest'] as const)(
    'is read from a traceparent in the environment of the process (%s)',
    async parent => {
      const plugin = createLivePlugin({ parent }, { env: { TRACEPARENT } })
      for (const [at, hook, payload] of [...began(), ...answered(100)])
        plugin.emitUntyped(hook, payload, { at: START_AT + at })
      const root = plugin.spans().find(span => span.name === 'agent')
      expect(root?.parentSpanId).toBe(parent === 'nest' ? 'b'.repeat(16) : undefined)
      expect(root?.links.map(link => link.spanId)).toEqual(parent === 'nest' ? [] : ['b'.repeat(16)])
      await plugin.shutdown()
    },
  )

  test.each(['rubbish', '00-0-0-01', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, 42, null])(
    'is not read from an invalid traceparent: %s',
    traceparent => {
      const plugin = told([[0, 'on_session_start', { session_id: 's1', traceparent }], ...answered(100)], {
        parent: 'nest',
      })
      expect(only(plugin, 'agent')).not.toHaveProperty('parentSpanId')
      expect(only(plugin, 'agent').links).toEqual([])
    },
  )

  test('is overruled by a known delegation', () => {
    const plugin = told([...began(), delegated(100)], { parent: 'nest' })
    const [start, ...rest] = childTurn(150) as [Step, ...Step[]]
    feedSteps(plugin, [
      [150, 'on_session_start', { ...start[2], traceparent: TRACEPARENT }],
      ...rest,
      stopped(400),
      ...answered(500),
    ])
    expect(parentOf(plugin, rootOf(plugin, 'C') ?? only(plugin, ''))?.name).toBe('subagent.researcher')
  })
})
