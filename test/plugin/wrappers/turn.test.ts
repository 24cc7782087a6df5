import { describe, expect, test } from 'vitest'
import type { TurnHandle } from '../../../src/index.ts'
import { createTestPlugin } from '../../../src/testing.ts'
import { answering, later, MODEL } from './pretend.ts'

describe('a turn', () => {
  test('has the right tree', async () => {
    const hooks = createTestPlugin({ host: 'my-agent' })
    const answer = await hooks.turn({ ...MODEL, user_message: 'What is in TODO?' }, async turn => {
      await turn.request({ ...MODEL }, async () => answering('', { id: 'c1', function: { name: 'read_file' } }))
      await turn.tool('read_file', { path: 'TODO' }, async ({ path }, tool) => {
        await tool.approval({ pattern_key: 'outside' }, async () => true)
        return `${path}: nothing`
      })
      await turn.request({ ...MODEL }, async () => answering('Nothing.'))
      return 'Nothing.'
    })
    expect(answer).toBe('Nothing.')
    expect(
      hooks.tree({ attributes: ['hermes.tool.target', 'hermes.approval.choice', 'gen_ai.usage.input_tokens'] }),
    ).toBe(
      [
        'agent OK',
        '  llm.qwen3 OK',
        '    api.qwen3 OK [gen_ai.usage.input_tokens=120]',
        '      tool.read_file OK [hermes.tool.target=TODO]',
        '        approval.outside OK [hermes.approval.choice=once]',
        '    api.qwen3 OK [gen_ai.usage.input_tokens=120]',
      ].join('\n'),
    )
    expect(hooks.reported).toEqual([])
  })

  test('has its message, its answer and its usage', async () => {
    const hooks = createTestPlugin({ content_capture: 'full' })
    await hooks.turn({ ...MODEL, user_message: 'Hello?', agent_name: 'greeter' }, turn =>
      turn
        .request({ ...MODEL, messages: [{ role: 'user', content: 'Hello?' }] }, async () => answering('Hi.'))
        .then(() => 'Hi.'),
    )
    const [api, , root] = hooks.spans()
    expect(root?.attributes).toMatchObject({
      'input.value': 'Hello?',
      'output.value': 'Hi.',
      'gen_ai.agent.name': 'greeter',
      'hermes.turn.tokens.total': 129,
      'hermes.turn.final_status': 'completed',
    })
    expect(api?.attributes).toMatchObject({
      'gen_ai.response.model': 'qwen3-30b',
      'gen_ai.response.id': 'chatcmpl-1',
      'gen_ai.response.finish_reason': 'stop',
      'output.value': 'Hi.',
      'hermes.api.call_count': 1,
    })
  })

  test('has another answer than the returned one by `end`', () => {
    const hooks = createTestPlugin()
    const result = hooks.turn({}, turn => {
      turn.end({ assistant_response: 'forty-two', turn_exit_reason: 'done' })
      return { data: 42 }
    })
    expect(result).toEqual({ data: 42 })
    expect(hooks.spans().at(-1)?.attributes).toMatchObject({
      'output.value': 'forty-two',
      'hermes.turn.exit_reason': 'done',
      'hermes.turn.final_status': 'completed',
    })
  })

  test.each([
    [{ failed: true }, 'failed', 'agent ERROR failed\n  llm UNSET (incomplete: turn_ended)'],
    [{ interrupted: true }, 'interrupted', 'agent OK\n  llm UNSET (incomplete: turn_ended)'],
    [{ completed: false }, 'incomplete', 'agent ERROR incomplete\n  llm UNSET (incomplete: turn_ended)'],
    [{}, 'completed', 'agent OK\n  llm OK'],
  ])('converts %j to %s', (ending, status, tree) => {
    const hooks = createTestPlugin()
    hooks.turn({}, turn => turn.end(ending))
    expect(hooks.spans().at(-1)?.attributes['hermes.turn.final_status']).toBe(status)
    expect(hooks.tree()).toBe(tree)
  })

  test('generates its ids, or uses given ones', () => {
    const hooks = createTestPlugin()
    const made = [hooks.turn({}, turn => turn.ids), hooks.turn({}, turn => turn.ids)]
    expect(new Set(made.flatMap(ids => [ids.session_id, ids.turn_id])).size).toBe(4)
    const given = { session_id: 's1', turn_id: 't1' }
    expect(hooks.turn(given, turn => turn.ids)).toEqual(given)
    expect(hooks.spans().at(-1)?.attributes).toMatchObject({ 'hermes.session.id': 's1', 'hermes.turn.id': 't1' })
  })

  test('links to the previous one of the same session', () => {
    const hooks = createTestPlugin()
    hooks.turn({ session_id: 's1' }, () => 'one')
    hooks.turn({ session_id: 's1' }, () => 'two')
    const [first, second] = hooks.spans().filter(span => span.parentSpanId === undefined)
    expect(second?.links.map(({ spanId }) => spanId)).toEqual([first?.spanId])
  })

  test('interrupts a running one of the same session, without affecting its work', async () => {
    const hooks = createTestPlugin()
    const gate = later<string>()
    const first = hooks.turn({ session_id: 's1' }, async () => gate.promise)
    await hooks.turn({ session_id: 's1' }, async () => 'second')
    gate.resolve('first')
    expect(await first).toBe('first')
    const roots = hooks.spans().filter(span => span.parentSpanId === undefined)
    expect(roots.map(span => span.attributes['hermes.turn.final_status'])).toEqual(['interrupted', 'completed'])
  })

  test('links to the caller in another process by a given trace context', () => {
    const hooks = createTestPlugin()
    hooks.turn({ traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }, () => undefined)
    expect(
      hooks
        .spans()
        .at(-1)
        ?.links.map(({ spanId }) => spanId),
    ).toEqual(['00f067aa0ba902b7'])
  })

  test('is separate from one in another session beside it', async () => {
    const hooks = createTestPlugin()
    const [a, b] = [later(), later()]
    const turns = [a, b].map((gate, at) =>
      hooks.turn({ model: `m${at}` }, async turn => {
        await gate.promise
        await turn.request({ model: `m${at}` }, async () => '')
      }),
    )
    b.resolve()
    await turns[1]
    a.resolve()
    await turns[0]
    expect(hooks.tree()).toBe('agent OK\n  llm.m1 OK\n    api.m1 OK\n\nagent OK\n  llm.m0 OK\n    api.m0 OK')
  })
})

describe('an exception', () => {
  test.each([
    [
      'synchronously',
      (error: unknown) => {
        throw error
      },
    ],
    ['by a promise', (error: unknown) => Promise.reject(error)],
  ])(
    'reaches the caller as the same object, and fails the open spans: %s',
    async (_, fail: (error: unknown) => unknown) => {
      const hooks = createTestPlugin()
      const error = new RangeError('too far')
      const run = async (): Promise<unknown> => hooks.turn({}, async turn => turn.tool('look', {}, () => fail(error)))
      await expect(run()).rejects.toBe(error)
      expect(hooks.tree()).toBe(
        ['agent ERROR failed', '  llm UNSET (incomplete: turn_ended)', '    tool.look ERROR RangeError'].join('\n'),
      )
      expect(hooks.spans().at(-1)?.attributes['hermes.turn.exit_reason']).toBe('RangeError')
    },
  )

  test.each([
    ['tool', (turn: TurnHandle, fail: () => never) => turn.tool('t', {}, fail)],
    ['request', (turn: TurnHandle, fail: () => never) => turn.request({}, fail)],
    ['approval', (turn: TurnHandle, fail: () => never) => turn.approval({}, fail)],
    ['subagent', (turn: TurnHandle, fail: () => never) => turn.subagent({}, fail)],
  ])('is thrown synchronously by a sync %s', (_, call) => {
    const hooks = createTestPlugin()
    const error = 'no Error at all'
    const fail = (): never => {
      throw error
    }
    let caught: unknown
    hooks.turn({}, turn => {
      try {
        call(turn, fail)
      } catch (thrown) {
        caught = thrown
      }
    })
    expect(caught).toBe(error)
    expect(hooks.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
  })

  test('interrupts the turn if it is an AbortError', async () => {
    const hooks = createTestPlugin()
    const aborted = AbortSignal.abort()
    await expect(hooks.turn({}, async () => aborted.throwIfAborted())).rejects.toBe(aborted.reason)
    expect(hooks.tree()).toBe('agent OK\n  llm UNSET (incomplete: turn_ended)')
    expect(hooks.spans().at(-1)?.attributes['hermes.turn.final_status']).toBe('interrupted')
  })

  test('has the most specific of its names as its type', () => {
    class NoAnswer extends Error {}
    const errors = [
      new TypeError('x'),
      new NoAnswer('x'),
      Object.assign(new Error('x'), { code: 'ENOENT' }),
      Object.assign(new Error('x'), { type: 'rate_limit_error' }),
      new Error('x'),
      'x',
      undefined,
    ]
    const hooks = createTestPlugin()
    hooks.turn({}, turn => {
      for (const error of errors) {
        try {
          turn.tool('t', {}, () => {
            throw error
          })
        } catch {}
      }
    })
    const types = hooks
      .spans()
      .filter(span => span.name === 'tool.t')
      .map(span => span.attributes['error.type'])
    expect(types).toEqual(['TypeError', 'NoAnswer', 'ENOENT', 'rate_limit_error', 'Error', 'tool_error', 'tool_error'])
  })

  test('ends tools still running with the turn, and their own ends are late', async () => {
    const hooks = createTestPlugin()
    const slow = later<string>()
    let running: Promise<string> | undefined
    const error = new Error('gave up')
    const turn = hooks.turn({}, async turn => {
      running = turn.tool('slow', {}, () => slow.promise)
      throw error
    })
    await expect(turn).rejects.toBe(error)
    slow.resolve('at last')
    await expect(running).resolves.toBe('at last')
    expect(hooks.tree()).toBe(
      [
        'agent ERROR failed',
        '  llm UNSET (incomplete: turn_ended)',
        '    tool.slow UNSET (incomplete: turn_ended)',
      ].join('\n'),
    )
    expect(hooks.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0, hooks: { error: 0, ignored: 0 } })
  })
})

describe('unfinished work', () => {
  test('ends a tool that is not awaited with the turn, and ignores its end', async () => {
    const hooks = createTestPlugin()
    const slow = later<string>()
    let running: Promise<string> | undefined
    await hooks.turn({}, async turn => {
      running = turn.tool('slow', {}, () => slow.promise)
      return 'done'
    })
    slow.resolve('at last')
    await running
    expect(hooks.tree()).toBe('agent OK\n  llm OK\n    tool.slow UNSET (incomplete: turn_ended)')
  })

  test("is in the trace of the turn if it begins after the turn's end", async () => {
    const hooks = createTestPlugin()
    const turn = hooks.turn({}, turn => turn)
    await turn.request({ model: 'late' }, async () => 'hello')
    expect(hooks.tree()).toBe('agent OK\n  llm OK\n  api.late OK')
  })

  test('changes nothing at a second end', () => {
    const hooks = createTestPlugin()
    hooks.turn({}, turn => {
      turn.tool('t', {}, (_, tool) => {
        tool.end({ status: 'blocked' })
        tool.end({ status: 'error' })
        return 'ran all the same'
      })
      turn.end({ assistant_response: 'first' })
      turn.end({ failed: true })
    })
    expect(hooks.tree({ attributes: ['hermes.tool.outcome', 'output.value'] })).toBe(
      [
        'agent OK [output.value=first]',
        '  llm OK [output.value=first]',
        '    tool.t OK [hermes.tool.outcome=blocked]',
      ].join('\n'),
    )
    expect(hooks.stats().hooks).toEqual({ ok: 6, ignored: 0, duplicate: 0, error: 0 })
  })
})

test('runs entirely in a disabled plugin, and returns the same', async () => {
  const { createPlugin } = await import('../../../src/index.ts')
  const hooks = createPlugin({ enabled: false })
  const error = new Error('thrown on')
  const result = await hooks.turn({}, async turn => {
    expect(turn.ids.session_id).toMatch(/./)
    const said = [
      await turn.request({}, async () => 1),
      turn.tool('t', 2, (args, tool) => args + (tool.approval({}, () => true) ? 0 : 1)),
      await turn.subagent({}, async child => child.request({}, () => 3)),
    ]
    await expect(turn.tool('t', {}, async () => Promise.reject(error))).rejects.toBe(error)
    return said
  })
  expect(result).toEqual([1, 2, 3])
})
