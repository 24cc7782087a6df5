import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createTelemetry } from '../../../src/agents/ai-sdk/index.ts'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import { freshHostsEachTest } from '../fresh-hosts.ts'

const OPTIONS = { local_log: false, prometheus: false } as const
const TAP = Symbol.for('hookspan.tap')
const shared = globalThis as Record<symbol, unknown>

let events: HostEvent[] = []

freshHostsEachTest()

beforeEach(() => {
  events = []
  shared[TAP] = (_host: string, event: HostEvent) => events.push(event)
})

afterEach(() => void vi.restoreAllMocks())

const toldNames = () => events.map(({ event }) => event)

class CallError extends Error {
  override readonly name = 'AI_APICallError'
  readonly statusCode = 500
  readonly isRetryable = true
}

describe('the copy of an event', () => {
  test('has the used fields, and neither headers nor options of the provider', () => {
    const secret = { headers: { authorization: 'Bearer abc' }, providerOptions: { key: 'abc' }, tools: {} }
    createTelemetry(OPTIONS).onStart({ callId: 'a', operationId: 'ai.generateText', modelId: 'm', ...secret })
    expect(events).toEqual([
      { event: 'onStart', at: expect.any(Number), data: { callId: 'a', operationId: 'ai.generateText', modelId: 'm' } },
    ])
  })

  test('has plain data of an error, and the last one of exhausted retries', () => {
    const telemetry = createTelemetry(OPTIONS)
    const gaveUp = Object.assign(new Error('Failed after 2 attempts'), { lastError: new CallError('on fire') })
    telemetry.onError({ callId: 'a', error: gaveUp })
    telemetry.onError({ callId: 'a', error: 'just a text' })
    const plain = { name: 'AI_APICallError', message: 'on fire', statusCode: 500, isRetryable: true }
    expect(events.map(({ data }) => data)).toEqual([
      { callId: 'a', error: plain },
      { callId: 'a', error: { message: 'just a text' } },
    ])
  })

  test('has its own time if the SDK reports it afterwards', () => {
    createTelemetry(OPTIONS).onStart({ callId: 'a', timestamp: 1_795_256_100_000 })
    expect(events[0]?.at).toBe(1_795_256_100_000)
  })
})

describe('any event, without an exception', () => {
  const proxy = Proxy.revocable({}, {})
  proxy.revoke()
  const throwing = {
    get callId(): string {
      throw new Error('no')
    },
  }

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'text'],
    ['a getter that throws', throwing],
    ['a revoked proxy', proxy.proxy],
    ['an empty object', {}],
  ])('is accepted: %s', (_what, event) => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const telemetry = createTelemetry(OPTIONS)
    for (const listener of Object.values(telemetry).slice(0, -3) as ((event: unknown) => void)[]) {
      expect(listener(event)).toBeUndefined()
    }
    expect(written).not.toHaveBeenCalled()
  })
})

describe('nested calls', () => {
  test('is passed on as the very same promise', async () => {
    const telemetry = createTelemetry(OPTIONS)
    const running = Promise.resolve('done')
    expect(telemetry.executeLanguageModelCall({ callId: 'a', execute: () => running })).toBe(running)
    expect(telemetry.executeTool({ callId: 'a', toolCallId: 't', execute: () => running })).toBe(running)
  })

  test('fails as without hookspan, and a failed attempt is emitted', async () => {
    const telemetry = createTelemetry(OPTIONS)
    const error = new CallError('on fire')
    const running = telemetry.executeLanguageModelCall({ callId: 'a', execute: () => Promise.reject(error) })
    await expect(running).rejects.toBe(error)
    expect(toldNames()).toEqual(['attemptStart', 'attemptError'])
    expect(events[1]?.data).toMatchObject({ callId: 'a', error: { name: 'AI_APICallError', statusCode: 500 } })
  })

  test('knows in which tool it was begun, also after a wait and beside another tool', async () => {
    const telemetry = createTelemetry(OPTIONS)
    const inner = (callId: string) => async () => {
      await Promise.resolve()
      telemetry.onStart({ callId })
    }
    await Promise.all([
      telemetry.executeTool({ callId: 'a', toolCallId: 't1', execute: inner('b') }),
      telemetry.executeTool({ callId: 'a', toolCallId: 't2', execute: inner('c') }),
    ])
    telemetry.onStart({ callId: 'd' })
    const contexts = events.map(({ data, context }) => [(data as { callId: string }).callId, context])
    expect(contexts).toEqual([
      ['b', { callId: 'a', toolCallId: 't1' }],
      ['c', { callId: 'a', toolCallId: 't2' }],
      ['d', undefined],
    ])
  })
})

test('emits all but the start of a call once if registered twice', () => {
  const [one, other] = [createTelemetry(OPTIONS), createTelemetry(OPTIONS)]
  for (const telemetry of [one, other]) telemetry.onStart({ callId: 'a' })
  for (const telemetry of [one, other]) telemetry.onStepStart({ callId: 'a' })
  expect(toldNames()).toEqual(['onStart', 'onStart', 'onStepStart'])
})

test('ends a flush', async () => {
  await expect(createTelemetry(OPTIONS).flush()).resolves.toBeUndefined()
})
