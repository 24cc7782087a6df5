import { describe, expect, test } from 'vitest'
import { createTestPlugin } from '../../../src/testing.ts'

describe('a stream', () => {
  async function* chunks(): AsyncGenerator<object> {
    yield { model: 'm-1', choices: [{ delta: { content: 'Hel' } }] }
    yield { choices: [{ delta: { content: 'lo' }, finish_reason: 'stop' }] }
    yield { choices: [], usage: { prompt_tokens: 11, completion_tokens: 2 } }
  }

  test('ends the request when it has been read, if it is returned', async () => {
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

  test('is read as without us, even if its methods throw', async () => {
    const error = new Error('not to be read')
    const hostile = (next: () => unknown): AsyncIterable<unknown> => ({
      [Symbol.asyncIterator]: () => ({
        next: next as () => Promise<IteratorResult<unknown>>,
        get return(): never {
          throw error
        },
        get throw(): never {
          throw error
        },
      }),
    })
    const read = async (stream: AsyncIterable<unknown>): Promise<unknown[]> => {
      const seen: unknown[] = []
      try {
        for await (const each of stream) seen.push(each)
      } catch (thrown) {
        seen.push(thrown)
      }
      return seen
    }
    let step = 0
    const counting = async (): Promise<object> => ({ done: ++step > 2, value: step })
    const failing = (): never => {
      throw null
    }
    const hooks = createTestPlugin()
    await hooks.turn({}, async turn => {
      expect(await read(turn.request({ model: 'a' }, () => hostile(counting)))).toEqual([1, 2])
      expect(await read(turn.request({ model: 'b' }, () => hostile(failing)))).toEqual([null])
      const closed: AsyncIterable<unknown> = {
        [Symbol.asyncIterator]() {
          throw error
        },
      }
      expect(await read(turn.request({ model: 'c' }, () => closed))).toEqual([error])
    })
    const requests = hooks.spans().filter(({ name }) => name.startsWith('api.'))
    expect(requests.map(({ name, status }) => [name, status])).toEqual([
      ['api.a', 'ok'],
      ['api.b', 'error'],
      ['api.c', 'error'],
    ])
  })

  test('sums the usage of its first and its last chunk', async () => {
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

  test('fails the request if it breaks off, with the same error', async () => {
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

  test('is closed if its reader leaves, as without hookspan', async () => {
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

  test('ends when reported, or else with the turn, if it is not read by `for await`', async () => {
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
