import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import { createTraceProcessor, type HostSpan, traceRunner } from '../../../src/agents/openai-agents/index.ts'
import { freshHostsEachTest } from '../fresh-hosts.ts'

const OPTIONS = { local_log: false, prometheus: false } as const
const TAP = Symbol.for('hookspan.tap')
const CONTEXT = Symbol.for('openai.agents.core.asyncLocalStorage')
const shared = globalThis as Record<symbol, unknown>

let events: HostEvent[] = []

freshHostsEachTest()

beforeEach(() => {
  events = []
  shared[TAP] = (_host: string, event: HostEvent) => events.push(event)
})

afterEach(() => {
  vi.restoreAllMocks()
  delete shared[CONTEXT]
})

/** A span as the host makes them: it writes into its data after it has told of it. */
class FakeSpan {
  readonly traceId = 'trace_1'
  readonly spanId = 'span_1'
  readonly parentId = null
  readonly spanData: Record<string, unknown> & { type: string } = { type: 'function', name: 'get_weather', input: '' }
  readonly startedAt = '2026-11-21T20:00:00.000Z'
  endedAt: string | null = null
  error: HostSpan['error'] = null
}

const TRACE = { traceId: 'trace_1', name: 'wf', groupId: 'conversation' }
const CALL = { type: 'function_call', id: 'fc_1', callId: 'call_1', name: 'delete_file', arguments: '{"path":"/a"}' }

class FakeState {
  readonly _trace = TRACE
  readonly _originalInput = 'Delete it'
  readonly answers = new Map<string, boolean>()
  readonly _context = {
    isToolApproved: ({ callId }: { callId: string }) => this.answers.get(callId) ?? this.answers.get('*'),
  }
  getInterruptions(): unknown[] {
    return [{ rawItem: CALL, agent: { name: 'main' }, toolName: 'delete_file' }]
  }
}

class FakeRunner extends EventEmitter {
  readonly config: Record<string, unknown> = { model: 'gpt-5' }
  outcome: () => Promise<unknown> = async () => ({ finalOutput: 'done' })
  run(..._args: unknown[]): Promise<unknown> {
    return this.outcome()
  }
}

const AGENT = { name: 'main', model: 'gpt-4o' }
const toldNames = () => events.map(({ event }) => event)
const settled = () => new Promise<void>(resolve => setImmediate(resolve))

describe('the processor', () => {
  test('reads data that the host writes right after the start, and excludes the end', async () => {
    const processor = createTraceProcessor(OPTIONS)
    const span = new FakeSpan()
    await processor.onTraceStart(TRACE)
    const started = processor.onSpanStart(span)
    span.spanData['input'] = '{"city":"Paris"}'
    await started
    await settled()
    expect(toldNames()).toEqual(['trace_start', 'span_start'])
    expect(events[1]?.data).toMatchObject({
      id: 'span_1',
      ended_at: null,
      error: null,
      span_data: { input: '{"city":"Paris"}' },
    })
  })

  test('passes the content on, and copies none of it', async () => {
    const processor = createTraceProcessor(OPTIONS)
    const span = Object.assign(new FakeSpan(), { endedAt: '2026-11-21T20:00:01.000Z' })
    await processor.onSpanEnd(span)
    await settled()
    const told = events[0]?.data as { span_data: unknown } | undefined
    expect(told?.span_data).toBe(span.spanData)
  })

  test('does not throw or reject, whatever it receives', async () => {
    const processor = createTraceProcessor(OPTIONS)
    const broken = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no')
        },
      },
    )
    for (const value of [undefined, null, 1, 'text', {}, broken]) {
      const each = [processor.onTraceStart, processor.onTraceEnd, processor.onSpanStart, processor.onSpanEnd]
      for (const method of each)
        await expect((method as (value: unknown) => Promise<void>)(value)).resolves.toBeUndefined()
    }
    await expect(processor.forceFlush()).resolves.toBeUndefined()
    await expect(processor.shutdown(10)).resolves.toBeUndefined()
  })

  test('emits everything once if created and registered twice', async () => {
    const processors = [createTraceProcessor(OPTIONS), createTraceProcessor(OPTIONS)]
    const span = new FakeSpan()
    for (const processor of processors) await processor.onTraceStart(TRACE)
    for (const processor of processors) await processor.onSpanStart(span)
    span.endedAt = '2026-11-21T20:00:01.000Z'
    for (const processor of processors) await processor.onSpanEnd(span)
    await settled()
    expect(toldNames()).toEqual(['trace_start', 'trace_start', 'span_start', 'span_end'])
  })
})

describe('the runner', () => {
  test('is the same one, once traced', () => {
    const runner = new FakeRunner()
    expect(traceRunner(runner, OPTIONS)).toBe(runner)
    const { run } = runner
    expect(traceRunner(runner, OPTIONS).run).toBe(run)
    expect(runner.listenerCount('agent_start')).toBe(1)
  })

  test('is recorded in the span in which it is emitted', async () => {
    shared[CONTEXT] = { getStore: () => ({ trace: TRACE, span: new FakeSpan() }) }
    const runner = traceRunner(new FakeRunner(), OPTIONS)
    runner.emit('agent_start', {}, AGENT, [{ role: 'user', content: 'Hi' }])
    runner.emit('agent_tool_start', {}, AGENT, { name: 'delete_file' }, { toolCall: CALL })
    runner.emit('agent_end', {}, AGENT, 'Bye')
    await settled()
    const here = { trace_id: 'trace_1', span_id: 'span_1' }
    expect(events.map(({ event, data }) => [event, data])).toEqual([
      ['runner.agent_start', { agent: 'main', model: 'gpt-5', turnInput: [{ role: 'user', content: 'Hi' }], ...here }],
      [
        'runner.agent_tool_start',
        {
          agent: 'main',
          tool: 'delete_file',
          details: { toolCall: { id: 'fc_1', callId: 'call_1', name: 'delete_file', arguments: CALL.arguments } },
          ...here,
        },
      ],
      ['runner.agent_end', { agent: 'main', output: 'Bye', ...here }],
    ])
  })

  test.each([
    ['agent', true, { message: 'AbortError: the caller has aborted the stream' }],
    ['agent', false, null],
    ['response', true, null],
  ])(
    'ends a span of the type %s, in a stream whose cancelled is %s, with the error %j',
    async (type, cancelled, error) => {
      const processor = createTraceProcessor(OPTIONS)
      let over = (): void => undefined
      const completed = new Promise<void>(resolve => {
        over = resolve
      })
      const runner = traceRunner(new FakeRunner(), OPTIONS)
      runner.outcome = async () => ({ state: { _trace: TRACE }, completed, cancelled })
      await runner.run(AGENT, 'Hi', { stream: true })
      const span = new FakeSpan()
      span.spanData.type = type
      await processor.onSpanEnd(span)
      over()
      await new Promise(setImmediate)
      await settled()
      const ends = events.filter(({ event }) => event === 'span_end')
      expect(ends.map(({ data }) => (data as { readonly error: unknown }).error)).toEqual([error])
    },
  )

  test('hides content that the host may not trace', async () => {
    const runner = new FakeRunner()
    runner.config['traceIncludeSensitiveData'] = false
    traceRunner(runner, OPTIONS)
    const result = { state: new FakeState() }
    runner.outcome = async () => result
    runner.emit('agent_start', {}, AGENT, [{ role: 'user', content: 'secret' }])
    runner.emit('agent_tool_start', {}, AGENT, { name: 'delete_file' }, { toolCall: CALL })
    runner.emit('agent_end', {}, AGENT, 'secret')
    await runner.run(AGENT, 'secret')
    await runner.run(AGENT, result.state)
    await settled()
    expect(toldNames()).toContain('runner.resumed')
    expect(JSON.stringify(events)).not.toMatch(/secret|\/a|Delete it/)
  })

  test('is not affected by listeners that cannot read their events', async () => {
    const lines = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    shared[CONTEXT] = {
      getStore: () => {
        throw new Error('no store')
      },
    }
    const runner = traceRunner(new FakeRunner(), OPTIONS)
    expect(() => runner.emit('agent_start', {}, AGENT, [])).not.toThrow()
    expect(() => runner.emit('agent_tool_start')).not.toThrow()
    await expect(runner.run(AGENT, 'Hi')).resolves.toEqual({ finalOutput: 'done' })
    const processor = createTraceProcessor(OPTIONS)
    await processor.onTraceStart(TRACE)
    await settled()
    expect(lines).toHaveBeenCalledTimes(1)
    expect(String(lines.mock.calls[0]?.[0])).toContain('openai-agents: a callback could not be read')
  })

  test.each([
    ['once', { call_1: true }],
    ['always', { '*': true }],
    ['deny', { call_1: false }],
    [undefined, {}],
  ])('reports the decision when it continues: %s', async (choice, answers) => {
    const runner = traceRunner(new FakeRunner(), OPTIONS)
    const state = new FakeState()
    for (const [call, answer] of Object.entries(answers)) state.answers.set(call, answer)
    await runner.run(AGENT, state)
    await settled()
    expect(events).toMatchObject([
      {
        event: 'runner.resumed',
        data: {
          trace_id: 'trace_1',
          group_id: 'conversation',
          input: 'Delete it',
          calls: [{ call_id: 'call_1', name: 'delete_file', arguments: CALL.arguments, agent: 'main', choice }],
        },
      },
    ])
  })

  test('reports the calls for which it stops, a streamed one when its stream is over', async () => {
    const runner = traceRunner(new FakeRunner(), OPTIONS)
    const result = { state: new FakeState() }
    runner.outcome = async () => result
    expect(await runner.run(AGENT, 'Delete it')).toBe(result)
    await settled()
    expect(events).toMatchObject([{ event: 'runner.interrupted', data: { calls: [{ call_id: 'call_1' }] } }])
    let finish = (): void => undefined
    const completed = new Promise<void>(resolve => {
      finish = resolve
    })
    runner.outcome = async () => ({ ...result, completed })
    await runner.run(AGENT, 'Delete it')
    await settled()
    expect(events).toHaveLength(1)
    finish()
    await settled()
    expect(toldNames()).toEqual(['runner.interrupted', 'runner.interrupted'])
  })

  test('fails as before', async () => {
    const runner = traceRunner(new FakeRunner(), OPTIONS)
    const failure = new Error('500 on fire')
    runner.outcome = async () => {
      throw failure
    }
    await expect(runner.run(AGENT, 'Hi')).rejects.toBe(failure)
    const completed = Promise.reject(failure)
    runner.outcome = async () => ({ completed })
    await expect(runner.run(AGENT, 'Hi')).resolves.toEqual({ completed })
    await expect(completed).rejects.toBe(failure)
  })

  test('is returned unchanged if it is no runner', () => {
    for (const value of [{}, Object.freeze({ on: () => undefined }), Object.create(null) as object])
      expect(traceRunner(value, OPTIONS)).toBe(value)
  })
})
