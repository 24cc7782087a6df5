import { describe, expect, test } from 'vitest'
import type { ToolHandle } from '../../../src/index.ts'
import { createTestPlugin } from '../../../src/testing.ts'
import { expectSoundSpans } from '../../support/trace-invariants.ts'
import { answering, later, MODEL, named } from './pretend.ts'

describe('a request', () => {
  test('has failed if it throws, and one with the same id is its retry', async () => {
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

  test('does not fail the turn if its error is caught', async () => {
    const hooks = createTestPlugin()
    await hooks.turn({}, async turn => {
      await turn.request({}, async () => Promise.reject(new Error('down'))).catch(() => undefined)
      return 'I could not ask.'
    })
    expect(hooks.tree()).toBe('agent OK\n  llm OK\n    api.error ERROR Error')
  })

  test('has more data by `end`, also a failure', async () => {
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

  test('does not own the tools of the turn if made in a tool', async () => {
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

describe('a tool', () => {
  test('is below the request that asked for it if several run in parallel', async () => {
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

  test('is below another request if it names one', async () => {
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
  ])('has the outcome of its exception, %s', (name, status, outcome) => {
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

  test('has a trace context that its ids name', () => {
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
  ])('maps %j to %s', (answer, choice, granted) => {
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
  ])('maps a thrown %s to %s', (name, choice) => {
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

  test('is below the tool that waits, and beside a simultaneous one', async () => {
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
  ])('ends if it throws %s', async (error, subagent, root) => {
    const hooks = createTestPlugin()
    await hooks.turn({}, async turn => {
      await expect(turn.subagent({ child_role: 'c' }, async () => Promise.reject(error))).rejects.toBe(error)
    })
    const lines = hooks.tree().split('\n')
    expect(lines.slice(2, 4)).toEqual([`    ${subagent}`, `      ${root}`])
  })
})
