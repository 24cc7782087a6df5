import { context, createTraceState, trace } from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { carryContext } from '../../../src/plugin/mcp/index.ts'
import { hostTelemetry } from '../host-telemetry.ts'

const CALLER = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 }
const TRACEPARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`
const OTHER = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-00`
const told = { traceparent: () => TRACEPARENT }

class Transport {
  readonly sent: unknown[] = []
  readonly options: unknown[] = []
  readonly failure: Error | undefined

  constructor(failure?: Error) {
    this.failure = failure
  }

  async send(message: unknown, options?: unknown): Promise<void> {
    if (this.failure !== undefined) throw this.failure
    this.sent.push(message)
    this.options.push(options)
  }
}

function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const each of Object.values(value)) frozen(each)
  return Object.freeze(value)
}

async function sent(message: unknown, options = {}): Promise<unknown> {
  const transport = carryContext(new Transport(), options)
  await transport.send(frozen(message))
  return transport.sent[0]
}

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'add', arguments: { a: 1 } } }

describe('a request', () => {
  test.each([
    ['with arguments', call, { ...call.params, _meta: { traceparent: TRACEPARENT } }],
    ['without any', { jsonrpc: '2.0', id: 'x', method: 'ping' }, { _meta: { traceparent: TRACEPARENT } }],
    [
      'with other fields in _meta',
      { jsonrpc: '2.0', id: 0, method: 'tools/list', params: { _meta: { progressToken: 7 } } },
      { _meta: { progressToken: 7, traceparent: TRACEPARENT } },
    ],
  ])('gets the context, in a copy: %s', async (_, message, params) => {
    expect(await sent(message, told)).toEqual({ ...message, params })
  })

  test('keeps a context of its own', async () => {
    const message = { ...call, params: { ...call.params, _meta: { traceparent: OTHER } } }
    expect(await sent(message, told)).toBe(message)
  })

  test('gets the span that is active, with its tracestate', async () => {
    hostTelemetry()
    const traceState = createTraceState('vendor=1')
    const active = trace.setSpanContext(context.active(), { ...CALLER, traceState })
    expect(await context.with(active, () => sent(call))).toMatchObject({
      params: { _meta: { traceparent: TRACEPARENT, tracestate: 'vendor=1' } },
    })
    expect(await sent(call)).toBe(call)
  })
})

test.each([
  ['a notification', { jsonrpc: '2.0', method: 'notifications/progress', params: {} }],
  ['an answer', { jsonrpc: '2.0', id: 1, result: {} }],
  ['an error', { jsonrpc: '2.0', id: 1, error: { code: -1, message: '' } }],
  ['nothing', undefined],
  ['text', 'tools/call'],
])('is unchanged for %s', async (_, message) => {
  expect(await sent(message, told)).toBe(message)
})

test.each([
  ['none', () => undefined],
  ['one that is none', () => 'not-valid'],
  ['one of zeros', () => `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`],
  [
    'an exception',
    () => {
      throw new Error('ours')
    },
  ],
])('is sent unchanged if reading the context finds %s', async (_, traceparent) => {
  expect(await sent(call, { traceparent })).toBe(call)
})

test('is decided separately for each of several messages', async () => {
  const answer = { jsonrpc: '2.0', id: 9, result: {} }
  expect(await sent([call, answer], told)).toEqual([
    { ...call, params: { ...call.params, _meta: { traceparent: TRACEPARENT } } },
    answer,
  ])
})

test('keeps the transport, wrapped once; its options and its errors are its own', async () => {
  const transport = new Transport()
  let asked = 0
  const traceparent = (): string => {
    asked++
    return TRACEPARENT
  }
  const options = { traceparent }
  expect(carryContext(carryContext(transport, options), options)).toBe(transport)
  const sendOptions = { relatedRequestId: 4 }
  await transport.send(call, sendOptions)
  expect(asked).toBe(1)
  expect(transport.options).toEqual([sendOptions])
  const failure = new Error('closed')
  await expect(carryContext(new Transport(failure), told).send(call)).rejects.toBe(failure)
})
