import { context, type Tracer, trace } from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { traceMcpServer } from '../../../src/plugin/mcp/index.ts'
import { type HostTelemetry, hostTelemetry } from '../host-telemetry.ts'

const TRACE = 'a'.repeat(32)
const META = `00-${TRACE}-${'b'.repeat(16)}-01`
const HEADER = `00-${TRACE}-${'c'.repeat(16)}-01`

type Handler = (params: Record<string, unknown>) => unknown

/** A transport as both lines of the SDK have them. */
class Transport {
  onmessage?: (message: unknown, extra?: unknown) => void
  onclose?: () => void
  readonly sent: unknown[] = []
  readonly sessionId: string | undefined
  closes = 0

  constructor(sessionId?: string) {
    this.sessionId = sessionId
  }

  async start(): Promise<void> {}

  async send(message: unknown): Promise<void> {
    this.sent.push(message)
  }
}

/** A `Server`, as far as the SDK's way of connecting and answering goes. */
class Server {
  readonly #handler: Handler

  constructor(handler: Handler) {
    this.#handler = handler
  }

  async connect(transport: Transport): Promise<void> {
    transport.onclose = () => {
      transport.closes++
    }
    transport.onmessage = message => {
      const { id, method, params } = message as { id?: number; method: string; params: Record<string, unknown> }
      if (id === undefined) return
      void Promise.resolve()
        .then(() => (method === 'tools/call' ? this.#handler(params) : {}))
        .then(
          result => (result === undefined ? undefined : transport.send({ jsonrpc: '2.0', id, result })),
          () => transport.send({ jsonrpc: '2.0', id, error: { code: -32602, message: 'secret' } }),
        )
    }
    await transport.start()
  }
}

interface Scene {
  readonly telemetry: HostTelemetry
  readonly transport: Transport
  call(fields?: object, extra?: unknown): Promise<void>
}

async function serving(handler: Handler = () => ({ content: [] }), sessionId?: string): Promise<Scene> {
  const telemetry = hostTelemetry()
  const transport = new Transport(sessionId)
  const { tracer } = telemetry
  await traceMcpServer({ server: new Server(handler), connect: async () => undefined }, { tracer }).server.connect(
    transport,
  )
  let id = 0
  return {
    telemetry,
    transport,
    async call(fields = {}, extra) {
      const params = { name: 'add', arguments: { key: 'secret' }, ...fields }
      transport.onmessage?.({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params }, extra)
      await new Promise(resolve => setImmediate(resolve))
    },
  }
}

const over = (headers: object): object => ({ requestInfo: { headers } })

describe('a call', () => {
  test('is a span of the server, below the parent that _meta names', async () => {
    const { telemetry, call } = await serving(undefined, 'session-1')
    await call({ _meta: { traceparent: META, tracestate: 'vendor=1' } })
    const span = telemetry.span('tools/call add')
    expect(span.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'add',
      'jsonrpc.request.id': '1',
      'mcp.session.id': 'session-1',
    })
    expect(span).toMatchObject({ kind: 1, status: { code: 0 }, links: [] })
    expect(span.parentSpanContext).toMatchObject({ spanId: 'b'.repeat(16), isRemote: true })
    expect(span.parentSpanContext?.traceState?.serialize()).toBe('vendor=1')
  })

  const headers = new Headers({ traceparent: HEADER })
  test.each<[string, unknown, unknown, string | undefined, readonly string[]]>([
    ['nobody', undefined, undefined, undefined, []],
    ['_meta alone', META, undefined, 'b', []],
    ['the header alone', undefined, over({ traceparent: HEADER }), 'c', []],
    ['the header of the newer line', undefined, { request: { headers } }, 'c', []],
    ['both', META, over({ traceparent: HEADER }), 'b', ['c']],
    ['both, the same', META, over({ traceparent: META }), 'b', []],
    ['an invalid _meta', 'not-valid', over({ traceparent: HEADER }), 'c', []],
    ['an invalid header', META, over({ traceparent: ['x'] }), 'b', []],
    ['two invalid ones', 7, over({ traceparent: 'x' }), undefined, []],
  ])('is named by %s', async (_, traceparent, extra, parent, links) => {
    const { telemetry, call } = await serving()
    await call({ _meta: { traceparent } }, extra)
    const span = telemetry.span('tools/call add')
    expect(span.parentSpanContext?.spanId[0]).toBe(parent)
    expect(span.links.map(link => link.context.spanId[0])).toEqual(links)
  })

  test('is below a traced HTTP server, unless _meta names another parent', async () => {
    const { telemetry, call } = await serving()
    const extra = over({ traceparent: HEADER })
    const http = await telemetry.within('POST /mcp', async span => {
      await call({}, extra)
      await call({ name: 'named', _meta: { traceparent: META } }, extra)
      await call({ name: 'stdio' })
      return span.spanContext().spanId
    })
    expect(telemetry.span('tools/call add').parentSpanContext?.spanId).toBe(http)
    expect(telemetry.span('tools/call named').parentSpanContext?.spanId).toBe('b'.repeat(16))
    expect(telemetry.span('tools/call named').links.map(link => link.context.spanId)).toEqual([http])
    // What is active where pipes are read was so when the server was started.
    expect(telemetry.span('tools/call stdio').parentSpanContext).toBeUndefined()
  })

  const initialized = { jsonrpc: '2.0', id: 0, result: { protocolVersion: '2025-06-18', serverInfo: { name: 'shop' } } }

  test('has the protocol version of the answer to initialize', async () => {
    const { telemetry, transport, call } = await serving()
    await call({ name: 'before' })
    await transport.send(initialized)
    await call({ name: 'after' })
    await transport.send({ jsonrpc: '2.0', id: 9, result: { protocolVersion: 'no secret belongs here' } })
    await call({ name: 'odd' })
    const versions = ['before', 'after', 'odd'].map(
      name => telemetry.span(`tools/call ${name}`).attributes['mcp.protocol.version'],
    )
    expect(versions).toEqual([undefined, '2025-06-18', undefined])
  })

  test('has the protocol version and the transport of its HTTP request', async () => {
    const { telemetry, call } = await serving()
    await call({}, over({ 'mcp-protocol-version': '2025-11-25' }))
    expect(telemetry.span('tools/call add').attributes).toMatchObject({
      'mcp.protocol.version': '2025-11-25',
      'network.transport': 'tcp',
    })
  })

  test('has the transport of stdio', async () => {
    const telemetry = hostTelemetry()
    const transport = Object.assign(new Transport(), { _stdin: {}, _stdout: {} })
    await traceMcpServer(new Server(() => ({})), { tracer: telemetry.tracer }).connect(transport)
    transport.onmessage?.({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'add' } })
    await new Promise(resolve => setImmediate(resolve))
    expect(telemetry.span('tools/call add').attributes['network.transport']).toBe('pipe')
  })

  test('is active in its tool', async () => {
    let inner: string | undefined
    const { telemetry, call } = await serving(() => {
      inner = trace.getSpanContext(context.active())?.spanId
      return {}
    })
    await call()
    expect(inner).toBe(telemetry.span('tools/call add').spanContext().spanId)
  })

  test.each<[string, Handler, object]>([
    ['a tool that fails', () => ({ isError: true, content: [{ text: 'secret' }] }), { 'error.type': 'tool_error' }],
    [
      'a call that is refused',
      () => {
        throw new Error('secret')
      },
      { 'error.type': '-32602' },
    ],
  ])('has an error for %s, and none of its words', async (_, handler, failure) => {
    const { telemetry, call } = await serving(handler)
    await call()
    const { attributes, status, events } = telemetry.span('tools/call add')
    expect(attributes).toMatchObject(failure)
    expect(status).toEqual({ code: 2 })
    expect(JSON.stringify({ attributes, events })).not.toContain('secret')
  })

  test.each([
    ['a', true],
    ['x'.repeat(128), true],
    ['files/read.v2', true],
    ['x'.repeat(129), false],
    ['two words', false],
    ['line\nbreak', false],
    [`sk-ant-api03-${'Ab3'.repeat(31)}`, false],
    [undefined, false],
    [{ name: 'add' }, false],
  ])('is named by the tool %j: %s', async (name, isNamed) => {
    const { telemetry, call } = await serving()
    await call({ name })
    const [span] = telemetry.ended()
    expect(span?.name).toBe(isNamed ? `tools/call ${name}` : 'tools/call')
    expect('gen_ai.tool.name' in (span?.attributes ?? {})).toBe(isNamed)
  })
})

test('has no span if it is no call, and is answered', async () => {
  const { telemetry, transport } = await serving()
  for (const message of [
    { jsonrpc: '2.0', id: 5, method: 'tools/list', params: {} },
    { jsonrpc: '2.0', method: 'tools/call', params: { name: 'add' } },
  ])
    transport.onmessage?.(message)
  await new Promise(resolve => setImmediate(resolve))
  expect(telemetry.ended()).toEqual([])
  expect(transport.sent).toEqual([{ jsonrpc: '2.0', id: 5, result: {} }])
})

test('ends without an error when cancelled, and with one when the connection closes', async () => {
  const { telemetry, transport, call } = await serving(() => undefined)
  await call({ name: 'first' })
  await call({ name: 'second' })
  transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
  expect(telemetry.span('tools/call first').status).toEqual({ code: 0 })
  transport.onclose?.()
  expect(transport.closes).toBe(1)
  expect(telemetry.span('tools/call second')).toMatchObject({
    status: { code: 2 },
    attributes: { 'error.type': 'connection_closed' },
  })
})

test('loses nothing if a tracer throws', async () => {
  hostTelemetry()
  const broken = {
    startSpan: () => {
      throw new Error('ours')
    },
  } as unknown as Tracer
  const transport = new Transport()
  const server = new Server(() => ({ content: [] }))
  expect(traceMcpServer(traceMcpServer(server, { tracer: broken }))).toBe(server)
  await server.connect(transport)
  transport.onmessage?.({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'add' } })
  await new Promise(resolve => setImmediate(resolve))
  expect(transport.sent).toEqual([{ jsonrpc: '2.0', id: 1, result: { content: [] } }])
})

test('is one of at most a thousand open calls', async () => {
  const { telemetry, transport } = await serving(() => undefined)
  for (let id = 1; id <= 1001; id++)
    transport.onmessage?.({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'add' } })
  expect(telemetry.ended().map(span => span.attributes['jsonrpc.request.id'])).toEqual(['1'])
})
