import { describe, expect, test } from 'vitest'
import type { ToolHandle, TurnHandle } from '../../src/index.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { expectSoundSpans } from '../support/trace-invariants.ts'

const MODEL = { model: 'qwen3', provider: 'ollama' }

function answering(text: string, ...calls: object[]): object {
  const message = { role: 'assistant', content: text, ...(calls.length > 0 && { tool_calls: calls }) }
  return {
    id: 'chatcmpl-1',
    model: 'qwen3-30b',
    choices: [{ message, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }],
    usage: { prompt_tokens: 120, completion_tokens: 9 },
  }
}

/** Something that ends when the test says so. */
function later<Value = void>(): {
  promise: Promise<Value>
  resolve: (value: Value) => void
  reject: (error: unknown) => void
} {
  let [resolve, reject]: [(value: Value) => void, (error: unknown) => void] = [() => {}, () => {}]
  const promise = new Promise<Value>((resolved, rejected) => {
    ;[resolve, reject] = [resolved, rejected]
  })
  return { promise, resolve, reject }
}

function named(name: string): Error {
  return Object.assign(new Error(`it was ${name}`), { name })
}

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

  test('says its message, its answer and what it used', async () => {
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

  test('says another answer than what it returns with `end`', () => {
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
  ])('that says %j is %s', (ending, status, tree) => {
    const hooks = createTestPlugin()
    hooks.turn({}, turn => turn.end(ending))
    expect(hooks.spans().at(-1)?.attributes['hermes.turn.final_status']).toBe(status)
    expect(hooks.tree()).toBe(tree)
  })

  test('makes its ids, and takes those that it is given', () => {
    const hooks = createTestPlugin()
    const made = [hooks.turn({}, turn => turn.ids), hooks.turn({}, turn => turn.ids)]
    expect(new Set(made.flatMap(ids => [ids.session_id, ids.turn_id])).size).toBe(4)
    const given = { session_id: 's1', turn_id: 't1' }
    expect(hooks.turn(given, turn => turn.ids)).toEqual(given)
    expect(hooks.spans().at(-1)?.attributes).toMatchObject({ 'hermes.session.id': 's1', 'hermes.turn.id': 't1' })
  })

  test('of the same session links to the one before', () => {
    const hooks = createTestPlugin()
    hooks.turn({ session_id: 's1' }, () => 'one')
    hooks.turn({ session_id: 's1' }, () => 'two')
    const [first, second] = hooks.spans().filter(span => span.parentSpanId === undefined)
    expect(second?.links.map(({ spanId }) => spanId)).toEqual([first?.spanId])
  })

  test('that runs beside another of another session does not meet it', async () => {
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

describe('what is thrown', () => {
  test.each([
    [
      'synchronously',
      (error: unknown) => {
        throw error
      },
    ],
    ['by a promise', (error: unknown) => Promise.reject(error)],
  ])(
    '%s reaches the caller as the same object, and fails what is open',
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
  ])('by a sync %s is thrown synchronously', (_, call) => {
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

  test('an AbortError interrupts the turn', async () => {
    const hooks = createTestPlugin()
    const aborted = AbortSignal.abort()
    await expect(hooks.turn({}, async () => aborted.throwIfAborted())).rejects.toBe(aborted.reason)
    expect(hooks.tree()).toBe('agent OK\n  llm UNSET (incomplete: turn_ended)')
    expect(hooks.spans().at(-1)?.attributes['hermes.turn.final_status']).toBe('interrupted')
  })

  test('says its type by the most telling name that it has', () => {
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

  test('by a turn whose tools still run: they are ended with it, and their own ends come late', async () => {
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

describe('what is forgotten', () => {
  test('a tool that is not waited for ends with the turn, and its end is no trouble', async () => {
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

  test('what begins after the end of the turn is in its trace', async () => {
    const hooks = createTestPlugin()
    const turn = hooks.turn({}, turn => turn)
    await turn.request({ model: 'late' }, async () => 'hello')
    expect(hooks.tree()).toBe('agent OK\n  llm OK\n  api.late OK')
  })

  test('a second end changes nothing', () => {
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

describe('what is returned', () => {
  class Answer extends Promise<object> {
    withResponse(): string {
      return 'the response'
    }
  }

  test('is the very same: values, and promises that are more than plain ones', async () => {
    const hooks = createTestPlugin()
    const value = { some: 'value' }
    const promise = Answer.resolve(value) as Answer
    hooks.turn({}, turn => {
      expect(turn.tool('t', {}, () => value)).toBe(value)
      expect(turn.request({}, () => value)).toBe(value)
      expect(turn.approval({}, () => value)).toBe(value)
      expect(turn.subagent({}, () => value)).toBe(value)
      expect(turn.request({}, () => promise).withResponse()).toBe('the response')
      expect(turn.tool('t', {}, () => promise)).toBe(promise)
    })
    expect(hooks.turn({}, () => value)).toBe(value)
    expect(hooks.turn({}, () => promise)).toBe(promise)
    expect(await hooks.turn({}, async () => value)).toBe(value)
  })

  test('is not run a second time when it only runs as it is awaited', async () => {
    const hooks = createTestPlugin()
    let runs = 0
    const query = {
      // biome-ignore lint/suspicious/noThenProperty: queries of some libraries are like that
      then(resolve: (rows: string[]) => void) {
        runs += 1
        resolve(['row'])
      },
    }
    const rows = await hooks.turn({}, async turn => turn.tool('query', {}, () => query))
    expect(rows).toEqual(['row'])
    expect(runs).toBe(1)
  })

  test('may be a rejection that nobody handles: it stays one', async () => {
    const hooks = createTestPlugin()
    const error = new Error('nobody listens')
    const unhandled: unknown[] = []
    const listeners = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', reason => void unhandled.push(reason))
    try {
      hooks.turn({}, turn => void turn.tool('t', {}, async () => Promise.reject(error)))
      await new Promise(resolve => setImmediate(resolve))
      await new Promise(resolve => setImmediate(resolve))
    } finally {
      process.removeAllListeners('unhandledRejection')
      for (const listener of listeners) process.on('unhandledRejection', listener)
    }
    expect(unhandled).toEqual([error])
  })

  test('of an error, the stack still says who awaited it', async () => {
    const hooks = createTestPlugin()
    async function innermost(): Promise<never> {
      await null
      throw new Error('deep down')
    }
    async function myAgentLoop(turn: TurnHandle): Promise<void> {
      await turn.tool('t', {}, innermost)
    }
    const stack = await hooks.turn({}, myAgentLoop).catch((error: Error) => error.stack)
    expect(stack).toContain('myAgentLoop')
  })

  test('getters of it are not asked', async () => {
    const hooks = createTestPlugin()
    const asked: string[] = []
    class Lazy {
      get usage(): object {
        asked.push('usage')
        return {}
      }
      get text(): string {
        asked.push('text')
        return ''
      }
    }
    await hooks.turn({}, async turn => turn.request({}, async () => new Lazy()))
    expect(asked).toEqual([])
  })

  test.each([
    [
      'a revoked Proxy',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {})
        revoke()
        return proxy
      },
    ],
    [
      'a Proxy that refuses',
      () =>
        new Proxy(
          {},
          { get: refuse, has: refuse, getOwnPropertyDescriptor: refuse, ownKeys: refuse, getPrototypeOf: refuse },
        ),
    ],
  ])('may be %s', (_, make) => {
    const hooks = createTestPlugin()
    const odd = make()
    const given = hooks.turn(odd, turn => [
      turn.request(odd, () => odd) === odd,
      turn.tool(odd, odd, args => args) === odd,
      turn.approval(odd, () => odd) === odd,
      turn.subagent(odd, () => odd) === odd,
    ])
    expect(given).toEqual([true, true, true, true])
    expect(hooks.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
  })
})

function refuse(): never {
  throw new Error('refused')
}

describe('a request', () => {
  test('that fails is failed, and one with the same id is its retry', async () => {
    const hooks = createTestPlugin()
    const down = Object.assign(new Error('overloaded'), { status: 529, name: 'APIError' })
    await hooks.turn(MODEL, async turn => {
      const ask = (attempt: number): Promise<object> =>
        turn.request({ ...MODEL, api_request_id: 'r1' }, async () => {
          if (attempt === 0) throw down
          return answering('Hi.')
        })
      const thrown = await ask(0).catch((error: unknown) => error)
      expect(thrown).toBe(down)
      await ask(1)
      await turn.tool('t', {}, () => 'ok')
      await turn.request(MODEL, async () => answering('Bye.'))
    })
    expect(
      hooks.tree({ attributes: ['hermes.api.call_count', 'hermes.api.attempt', 'http.response.status_code'] }),
    ).toBe(
      [
        'agent OK',
        '  llm.qwen3 OK',
        '    api.qwen3 ERROR APIError [hermes.api.call_count=1, hermes.api.attempt=0, http.response.status_code=529]',
        '    api.qwen3 OK [hermes.api.call_count=1, hermes.api.attempt=1]',
        '      tool.t OK',
        '    api.qwen3 OK [hermes.api.call_count=2, hermes.api.attempt=0]',
      ].join('\n'),
    )
  })

  test('whose error is caught does not fail the turn', async () => {
    const hooks = createTestPlugin()
    await hooks.turn({}, async turn => {
      await turn.request({}, async () => Promise.reject(new Error('down'))).catch(() => undefined)
      return 'I could not ask.'
    })
    expect(hooks.tree()).toBe('agent OK\n  llm OK\n    api.error ERROR Error')
  })

  test('says more with `end`, also that it failed', async () => {
    const hooks = createTestPlugin()
    await hooks.turn({}, async turn => {
      await turn.request({}, async request => {
        request.end({ usage: { input_tokens: 7, output_tokens: 1 }, finish_reason: 'length' })
        return answering('not read')
      })
      await turn.request({}, async request => {
        request.end({ error: { type: 'overloaded' }, retryable: true, status_code: 503 })
        return new Response(null, { status: 503 })
      })
    })
    const [first, second] = hooks.spans()
    expect(first?.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.response.finish_reason': 'length',
    })
    expect(first?.attributes).not.toHaveProperty('gen_ai.response.id')
    expect(second).toMatchObject({
      status: 'error',
      attributes: { 'error.type': 'overloaded', 'hermes.retryable': true },
    })
  })

  test('that is made in a tool does not ask for the tools of the turn', async () => {
    const hooks = createTestPlugin()
    await hooks.turn({}, async turn => {
      await turn.request({ model: 'big' }, async () => '')
      await Promise.all([
        turn.tool('summarise', {}, async (_, tool) => {
          await tool.request({ model: 'small' }, async () => '')
          await tool.tool('inner', {}, async () => '')
        }),
        Promise.resolve().then(() => turn.tool('outer', {}, async () => '')),
      ])
    })
    expect(hooks.tree()).toBe(
      [
        'agent OK',
        '  llm OK',
        '    api.big OK',
        '      tool.outer OK',
        '      tool.summarise OK',
        '    api.small OK',
        '      tool.inner OK',
      ].join('\n'),
    )
  })
})

describe('tools', () => {
  test('that run side by side stand below the request that asked for them', async () => {
    const hooks = createTestPlugin()
    await hooks.turn({}, async turn => {
      await turn.request({ model: 'm' }, async () => '')
      const gates = [later<string>(), later<string>(), later<string>()]
      const all = Promise.all(
        gates.map((gate, at) =>
          turn.tool({ tool_name: 'fetch', tool_call_id: `c${at}` }, { url: `http://${at}` }, () => gate.promise),
        ),
      )
      for (const gate of gates.toReversed()) gate.resolve('done')
      expect(await all).toEqual(['done', 'done', 'done'])
    })
    expect(hooks.tree({ attributes: ['hermes.tool.target'] })).toBe(
      [
        'agent OK',
        '  llm OK',
        '    api.m OK',
        '      tool.fetch OK [hermes.tool.target=http://2]',
        '      tool.fetch OK [hermes.tool.target=http://1]',
        '      tool.fetch OK [hermes.tool.target=http://0]',
      ].join('\n'),
    )
  })

  test('stand below another request where they say so', async () => {
    const hooks = createTestPlugin()
    await hooks.turn({}, async turn => {
      const first = await turn.request({ model: 'a' }, async request => request.ids)
      await turn.request({ model: 'b' }, async () => '')
      turn.tool({ tool_name: 't', api_request_id: first.api_request_id }, {}, () => '')
    })
    expect(hooks.tree()).toBe('agent OK\n  llm OK\n    api.a OK\n      tool.t OK\n    api.b OK')
  })

  test.each([
    ['AbortError', 'OK', 'cancelled'],
    ['TimeoutError', 'OK', 'timeout'],
    ['RangeError', 'ERROR RangeError', 'error'],
  ])('that throw a %s', (name, status, outcome) => {
    const hooks = createTestPlugin()
    hooks.turn({}, turn => {
      expect(() =>
        turn.tool('t', {}, () => {
          throw named(name)
        }),
      ).toThrow(`it was ${name}`)
    })
    expect(hooks.tree({ attributes: ['hermes.tool.outcome'] })).toContain(
      `tool.t ${status} [hermes.tool.outcome=${outcome}]`,
    )
  })

  test('have a trace context that their ids name', () => {
    const hooks = createTestPlugin({ propagate_context: true })
    let inTool: string | undefined
    let inTurn: string | undefined
    hooks.turn({}, turn => {
      inTurn = hooks.traceparent(turn.ids)
      turn.tool('t', {}, (_, tool) => {
        inTool = hooks.traceparent(tool.ids)
      })
      turn.tool('another', {}, () => undefined)
    })
    const [tool, , llm] = hooks.spans()
    expect(inTool).toBe(`00-${tool?.traceId}-${tool?.spanId}-01`)
    expect(inTurn).toBe(`00-${llm?.traceId}-${llm?.spanId}-01`)
  })
})

describe('an approval', () => {
  test.each([
    [true, 'once', true],
    ['allow', 'once', true],
    ['always', 'always', true],
    [{ choice: 'session' }, 'session', true],
    [false, 'deny', false],
    ['Denied', 'deny', false],
    ['later', 'later', false],
    [undefined, undefined, false],
  ])('of %j is %s', (answer, choice, granted) => {
    const hooks = createTestPlugin()
    hooks.turn({}, turn => turn.approval({ command: 'rm -r build' }, () => answer))
    const { attributes } = hooks.spans()[0]!
    expect([attributes['hermes.approval.choice'], attributes['hermes.approval.granted']]).toEqual([choice, granted])
    expect(attributes['hermes.approval.command']).toBe('rm -r build')
  })

  test.each([
    ['TimeoutError', 'timeout'],
    ['AbortError', 'cancelled'],
    ['Error', 'error'],
  ])('that throws a %s is a %s', (name, choice) => {
    const hooks = createTestPlugin()
    hooks.turn({}, turn => {
      expect(() =>
        turn.approval({}, () => {
          throw named(name)
        }),
      ).toThrow()
    })
    expect(hooks.spans()[0]?.attributes['hermes.approval.choice']).toBe(choice)
  })

  test('stands below the tool that waits, and beside another that is asked for at once', async () => {
    const hooks = createTestPlugin()
    const [a, b] = [later<boolean>(), later<boolean>()]
    await hooks.turn({}, async turn => {
      const tool = turn.tool('t', {}, async (_, tool: ToolHandle) =>
        Promise.all([
          tool.approval({ surface: 'a' }, () => a.promise),
          tool.approval({ surface: 'b' }, () => b.promise),
        ]),
      )
      b.resolve(false)
      a.resolve(true)
      expect(await tool).toEqual([true, false])
    })
    expect(hooks.tree({ attributes: ['hermes.approval.surface', 'hermes.approval.choice'] })).toBe(
      [
        'agent OK',
        '  llm OK',
        '    tool.t OK',
        '      approval OK [hermes.approval.surface=b, hermes.approval.choice=deny]',
        '      approval OK [hermes.approval.surface=a, hermes.approval.choice=once]',
      ].join('\n'),
    )
  })
})

describe('a child agent', () => {
  test('has a turn of its own below, in the same trace; so have its children', async () => {
    const hooks = createTestPlugin()
    await hooks.turn({ session_id: 's1' }, async turn => {
      await turn.request({ model: 'm' }, async () => '')
      const report = await turn.tool('research', {}, async (_, tool) =>
        tool.subagent({ child_role: 'scout', child_goal: 'Find', model: 'small' }, async child => {
          await child.request({ model: 'small' }, async () => '')
          return child.subagent({ child_role: 'digger', child_goal: 'Dig' }, async () => 'dug')
        }),
      )
      expect(report).toBe('dug')
    })
    expect(hooks.tree({ attributes: ['input.value', 'output.value'] })).toBe(
      [
        'agent OK',
        '  llm OK',
        '    api.m OK',
        '      tool.research OK [input.value={}, output.value=dug]',
        '        subagent.scout OK [input.value=Find, output.value=dug]',
        '          agent OK [input.value=Find, output.value=dug]',
        '            llm.small OK [input.value=Find, output.value=dug]',
        '              api.small OK',
        '              subagent.digger OK [input.value=Dig, output.value=dug]',
        '                agent OK [input.value=Dig, output.value=dug]',
        '                  llm OK [input.value=Dig, output.value=dug]',
      ].join('\n'),
    )
    expectSoundSpans(hooks.spans())
  })

  test('runs beside another', async () => {
    const hooks = createTestPlugin()
    const gates = [later<string>(), later<string>()]
    const turn = hooks.turn({}, async turn =>
      Promise.all(
        gates.map((gate, at) =>
          turn.subagent({ child_role: `c${at}` }, async child => {
            const said = await gate.promise
            await child.tool(said, {}, async () => '')
            return said
          }),
        ),
      ),
    )
    gates[1]?.resolve('second')
    gates[0]?.resolve('first')
    expect(await turn).toEqual(['first', 'second'])
    expect(hooks.tree()).toBe(
      [
        'agent OK',
        '  llm OK',
        '    subagent.c1 OK',
        '      agent OK',
        '        llm OK',
        '          tool.second OK',
        '    subagent.c0 OK',
        '      agent OK',
        '        llm OK',
        '          tool.first OK',
      ].join('\n'),
    )
    expectSoundSpans(hooks.spans())
  })

  test.each([
    [new RangeError('lost'), 'subagent.c ERROR failed', 'agent ERROR failed'],
    [named('AbortError'), 'subagent.c OK', 'agent OK'],
  ])('that throws %s', async (error, subagent, root) => {
    const hooks = createTestPlugin()
    await hooks.turn({}, async turn => {
      await expect(turn.subagent({ child_role: 'c' }, async () => Promise.reject(error))).rejects.toBe(error)
    })
    const lines = hooks.tree().split('\n')
    expect(lines.slice(2, 4)).toEqual([`    ${subagent}`, `      ${root}`])
  })
})

describe('a stream', () => {
  async function* chunks(): AsyncGenerator<object> {
    yield { model: 'm-1', choices: [{ delta: { content: 'Hel' } }] }
    yield { choices: [{ delta: { content: 'lo' }, finish_reason: 'stop' }] }
    yield { choices: [], usage: { prompt_tokens: 11, completion_tokens: 2 } }
  }

  test('that is given back ends the request when it has been read', async () => {
    const hooks = createTestPlugin()
    const given = chunks()
    await hooks.turn({}, async turn => {
      const stream = await turn.request({ model: 'm', stream: true }, async () => given)
      expect(stream).toBe(given)
      expect(hooks.spans()).toEqual([])
      const read: object[] = []
      for await (const chunk of stream) read.push(chunk)
      expect(read).toHaveLength(3)
      expect(hooks.spans()).toHaveLength(1)
    })
    expect(hooks.spans()[0]).toMatchObject({
      name: 'api.m',
      status: 'ok',
      attributes: {
        'gen_ai.usage.input_tokens': 11,
        'gen_ai.usage.output_tokens': 2,
        'gen_ai.response.finish_reason': 'stop',
        'gen_ai.response.model': 'm-1',
        'gen_ai.response.time_to_first_chunk': expect.any(Number),
      },
    })
  })

  test('counts what is used in its first and in its last chunk', async () => {
    const hooks = createTestPlugin()
    async function* events(): AsyncGenerator<object> {
      yield { type: 'message_start', message: { model: 'c', usage: { input_tokens: 30, output_tokens: 1 } } }
      yield { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 12 } }
    }
    await hooks.turn({}, async turn => {
      for await (const _ of turn.request({}, events));
    })
    expect(hooks.spans()[0]?.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 30,
      'gen_ai.usage.output_tokens': 12,
      'gen_ai.response.finish_reason': 'end_turn',
    })
  })

  test('that breaks off fails the request, with the same error', async () => {
    const hooks = createTestPlugin()
    const error = new Error('connection lost')
    // biome-ignore lint/correctness/useYield: it breaks off before
    async function* broken(): AsyncGenerator<object> {
      throw error
    }
    await hooks.turn({}, async turn => {
      const read = async (): Promise<void> => {
        for await (const _ of turn.request({ model: 'm' }, broken));
      }
      await expect(read()).rejects.toBe(error)
    })
    expect(hooks.tree()).toBe('agent OK\n  llm OK\n    api.m ERROR Error')
  })

  test('that its reader leaves is closed, as it would be', async () => {
    const hooks = createTestPlugin()
    let isClosed = false
    async function* endless(): AsyncGenerator<number> {
      try {
        for (;;) yield 1
      } finally {
        isClosed = true
      }
    }
    await hooks.turn({}, async turn => {
      for await (const _ of turn.request({ model: 'm' }, endless)) break
    })
    expect(isClosed).toBe(true)
    expect(hooks.tree()).toBe('agent OK\n  llm OK\n    api.m OK')
  })

  test('ends a turn, too, when it has been read', async () => {
    const hooks = createTestPlugin()
    const words = hooks.turn({}, async function* (turn) {
      yield* ['Hel', 'lo']
      turn.end({ assistant_response: 'Hello' })
    })
    expect(hooks.stats().turnsOpen).toBe(1)
    const read: string[] = []
    for await (const word of words) read.push(word)
    expect(read).toEqual(['Hel', 'lo'])
    expect(hooks.tree({ attributes: ['output.value'] })).toBe(
      'agent OK [output.value=Hello]\n  llm OK [output.value=Hello]',
    )
  })

  test('that nobody reads with `for await` ends when that is said, or else with the turn', async () => {
    const hooks = createTestPlugin()
    await hooks.turn({}, async turn => {
      turn.request({ model: 'said' }, request => {
        setImmediate(() => request.end({ usage: { input_tokens: 1 } }))
        return chunks()
      })
      await new Promise(resolve => setImmediate(() => setImmediate(resolve)))
      turn.request({ model: 'frozen' }, () => Object.freeze(chunks()))
    })
    expect(hooks.tree()).toBe('agent OK\n  llm OK\n    api.said OK\n    api.frozen UNSET (incomplete: turn_ended)')
  })
})

test('a plugin that is switched off runs all of it, and gives back the same', async () => {
  const { createPlugin } = await import('../../src/index.ts')
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
