import { describe, expect, test } from 'vitest'
import { planBackend } from '../../src/pipeline/backend-plan.ts'
import { BACKENDS, type BackendSettings, traceLinks } from '../../src/pipeline/index.ts'
import type { OtlpSink } from '../support/otlp-sink.ts'
import { backend, countPoint, Lines, openPipeline, recordSpans, startSink } from './pipeline-fixture.ts'

interface Contract {
  readonly options?: Record<string, string>
  /** Of the endpoint that is given, below the sink. */
  readonly path?: string
  readonly defaultUrl?: string
  readonly contentType: 'json' | 'protobuf'
  readonly headers: Record<string, string>
  readonly signals: 'T' | 'TM'
}

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

/** What each type's documentation asks for. */
const CONTRACTS: Readonly<Record<string, Contract>> = {
  otlp: { defaultUrl: 'http://127.0.0.1:4318/v1/traces', contentType: 'protobuf', headers: {}, signals: 'TM' },
  jaeger: { defaultUrl: 'http://127.0.0.1:4318/v1/traces', contentType: 'json', headers: {}, signals: 'T' },
  tempo: { defaultUrl: 'http://127.0.0.1:4318/v1/traces', contentType: 'json', headers: {}, signals: 'T' },
  phoenix: {
    options: { api_key: 'k' },
    defaultUrl: 'http://127.0.0.1:6006/v1/traces',
    contentType: 'protobuf',
    headers: { authorization: 'Bearer k' },
    signals: 'T',
  },
  langfuse: {
    options: { public_key: 'pk', secret_key: 'sk' },
    path: '/api/public/otel',
    defaultUrl: 'https://cloud.langfuse.com/api/public/otel/v1/traces',
    contentType: 'protobuf',
    headers: { authorization: basic('pk:sk'), 'x-langfuse-ingestion-version': '4' },
    signals: 'T',
  },
  signoz: {
    options: { ingestion_key: 'k', region: 'eu' },
    defaultUrl: 'https://ingest.eu.signoz.cloud/v1/traces',
    contentType: 'protobuf',
    headers: { 'signoz-ingestion-key': 'k' },
    signals: 'TM',
  },
  uptrace: {
    options: { dsn: 'https://token@api.uptrace.dev?grpc=4317' },
    defaultUrl: 'https://api.uptrace.dev/v1/traces',
    contentType: 'protobuf',
    headers: { 'uptrace-dsn': 'https://token@api.uptrace.dev?grpc=4317' },
    signals: 'TM',
  },
  openobserve: {
    options: { user: 'me@example.test', password: 'pw', stream_name: 'agents' },
    path: '/api/default',
    defaultUrl: 'http://127.0.0.1:5080/api/default/v1/traces',
    contentType: 'protobuf',
    headers: { authorization: basic('me@example.test:pw'), 'stream-name': 'agents' },
    signals: 'TM',
  },
  honeycomb: {
    options: { api_key: 'k', dataset: 'd', region: 'eu' },
    defaultUrl: 'https://api.eu1.honeycomb.io/v1/traces',
    contentType: 'protobuf',
    headers: { 'x-honeycomb-team': 'k', 'x-honeycomb-dataset': 'd' },
    signals: 'TM',
  },
  lgtm: { defaultUrl: 'http://127.0.0.1:4318/v1/traces', contentType: 'protobuf', headers: {}, signals: 'TM' },
  weave: {
    options: { api_key: 'k', entity: 'team', project: 'p' },
    path: '/otel',
    defaultUrl: 'https://trace.wandb.ai/otel/v1/traces',
    contentType: 'protobuf',
    headers: { 'wandb-api-key': 'k' },
    signals: 'T',
  },
  langsmith: {
    options: { api_key: 'k', project: 'p', region: 'eu', workspace_id: 'w' },
    path: '/otel',
    defaultUrl: 'https://eu.api.smith.langchain.com/otel/v1/traces',
    contentType: 'protobuf',
    headers: { 'x-api-key': 'k', 'langsmith-project': 'p', 'x-tenant-id': 'w' },
    signals: 'T',
  },
  datadog: {
    options: { api_key: 'k', site: 'datadoghq.eu' },
    defaultUrl: 'https://otlp.datadoghq.eu/v1/traces',
    contentType: 'protobuf',
    headers: { 'dd-api-key': 'k', 'dd-otlp-source': 'llmobs' },
    signals: 'T',
  },
  mlflow: {
    options: { experiment_id: '7', token: 't' },
    defaultUrl: 'http://127.0.0.1:5000/v1/traces',
    contentType: 'protobuf',
    headers: { 'x-mlflow-experiment-id': '7', authorization: 'Bearer t' },
    signals: 'T',
  },
  elastic: {
    options: { api_key: 'k' },
    contentType: 'protobuf',
    headers: { authorization: 'ApiKey k' },
    signals: 'TM',
  },
}

const HTTP_TYPES = Object.keys(BACKENDS).filter(type => BACKENDS[type]?.transport === 'http')

test('every type that is sent to over HTTP has its contract here', () => {
  expect(Object.keys(CONTRACTS).sort()).toEqual([...HTTP_TYPES].sort())
})

describe.each(Object.entries(CONTRACTS))('%s', (type, contract) => {
  const settings = (sink: OtlpSink): BackendSettings =>
    backend(type, `${sink.url}${contract.path ?? ''}`, { options: contract.options ?? {} })

  test('sends what its documentation asks for', async () => {
    const sink = await startSink()
    const lines = new Lines()
    const pipeline = openPipeline({ backends: [settings(sink)] }, lines)
    recordSpans(pipeline, 'one')
    countPoint(pipeline, 'points')
    await pipeline.flush()
    expect(lines.said).toEqual([])
    expect(sink.requests.map(request => request.path).sort()).toEqual(
      contract.signals === 'TM'
        ? [`${contract.path ?? ''}/v1/metrics`, `${contract.path ?? ''}/v1/traces`]
        : [`${contract.path ?? ''}/v1/traces`],
    )
    for (const { headers, method } of sink.requests) {
      expect(method).toBe('POST')
      expect(headers).toMatchObject(contract.headers)
      expect(headers['content-type']).toBe(
        contract.contentType === 'json' ? 'application/json' : 'application/x-protobuf',
      )
    }
    expect(sink.spanNames).toEqual(['one'])
  })

  test('has the default endpoint that its documentation gives', () => {
    const planned = planBackend(backend(type, undefined, { options: contract.options ?? {} }))
    if (contract.defaultUrl === undefined) {
      expect(planned).toEqual({
        ok: false,
        problem: `backend ${type} is off: endpoint is missing or cannot be derived. Set endpoint`,
      })
    } else expect(planned.ok && planned.plan.urls.traces).toBe(contract.defaultUrl)
  })
})

const REQUIRED = Object.entries(BACKENDS).flatMap(([type, row]) =>
  Object.keys(row.options).flatMap(key => (row.options[key]?.required ? [[type, key] as const] : [])),
)

test.each(REQUIRED)('%s says that %s is missing', (type, key) => {
  const { [key]: _left, ...options } = CONTRACTS[type]?.options ?? {}
  const planned = planBackend(backend(type, 'http://127.0.0.1:1', { options }))
  expect(!planned.ok && planned.problem).toContain(`backend ${type} is off: ${key} is missing. Set ${key}`)
})

test.each(HTTP_TYPES.filter(type => BACKENDS[type]?.onlyProtocol))(
  '%s is sent protobuf even when told otherwise',
  async type => {
    const sink = await startSink()
    const lines = new Lines()
    const more = { options: CONTRACTS[type]?.options ?? {}, protocol: 'http/json' } as const
    const pipeline = openPipeline({ backends: [backend(type, sink.url, more)] }, lines)
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(sink.requests[0]?.headers['content-type']).toBe('application/x-protobuf')
    expect(lines.said).toEqual([`backend ${type}: ${type} takes http/protobuf only; protocol: http/json is ignored`])
  },
)

test('weave is told by resource attributes where the traces belong', async () => {
  const sink = await startSink()
  const pipeline = openPipeline({
    backends: [
      backend('weave', sink.url, { options: { api_key: 'k', entity: 'team', project: 'p' } }),
      backend('jaeger', sink.url),
    ],
  })
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  const json = sink.requests.find(request => request.json !== undefined)?.body.toString()
  expect(json).toContain('{"key":"wandb.entity","value":{"stringValue":"team"}}')
  expect(json).toContain('{"key":"wandb.project","value":{"stringValue":"p"}}')
})

test('an endpoint that is no URL is said', () => {
  const planned = planBackend(backend('otlp', 'localhost:4318'))
  expect(!planned.ok && planned.problem).toBe(
    'backend otlp is off: endpoint is not a URL. It starts with http:// or https://',
  )
})

describe('where a trace can be looked at and asked for', () => {
  const id = '0af7651916cd43dd8448eb211c80319c'

  test.each([
    ['jaeger', 'http://box:4318', {}, `http://box:16686/trace/${id}`, `http://box:16686/api/traces/${id}`],
    [
      'phoenix',
      'http://box:6006/v1/traces',
      {},
      `http://box:6006/redirects/traces/${id}`,
      `http://box:6006/v1/projects/my%20project/spans?trace_id=${id}`,
    ],
    [
      'langfuse',
      undefined,
      { public_key: 'a', secret_key: 'b', base_url: 'http://box:3000/' },
      `http://box:3000/trace/${id}`,
      `http://box:3000/api/public/traces/${id}`,
    ],
    ['tempo', 'http://box:4318', {}, undefined, `http://box:3200/api/traces/${id}`],
  ] as const)('%s', (type, endpoint, options, view, readBack) => {
    const links = traceLinks(backend(type, endpoint, { options }), id, 'my project')
    expect(links.view).toBe(view)
    expect(links.readBack?.url).toBe(readBack)
  })

  test('no secret gets into an address, and headers only where they are needed', () => {
    for (const type of HTTP_TYPES) {
      const options = CONTRACTS[type]?.options ?? {}
      const links = traceLinks(backend(type, 'http://box:1', { options, headers: { 'x-a': 'b' } }), id)
      for (const url of [links.view, links.readBack?.url]) {
        if (url !== undefined) expect(URL.canParse(url), url).toBe(true)
        expect(url ?? '').not.toMatch(/[{}]/)
      }
    }
    const langfuse = traceLinks(backend('langfuse', undefined, { options: { public_key: 'a', secret_key: 'b' } }), id)
    expect(langfuse.readBack?.headers).toMatchObject({ authorization: basic('a:b') })
    expect(traceLinks(backend('jaeger', 'http://box:1', { headers: { 'x-a': 'b' } }), id).readBack?.headers).toEqual({})
  })
})
