import { describe, expect, test } from 'vitest'
import { planBackend } from '../../../src/delivery/pipeline/backend-plan.ts'
import { BACKENDS, loadsToSend, traceLinks } from '../../../src/delivery/pipeline/index.ts'
import { VENDORS } from '../../backends/rows/vendors.ts'
import { backend, openPipeline, recordSpans, startSink } from './pipeline-fixture.ts'

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

/** What each of them is sent, and how it answers, is tested in `test/backends/rows`. */
const HTTP_TYPES = Object.keys(VENDORS) as (keyof typeof VENDORS)[]

const REQUIRED = HTTP_TYPES.flatMap(type => {
  const options = BACKENDS[type]?.options ?? {}
  return Object.keys(options).flatMap(key => (options[key]?.required ? [[type, key] as const] : []))
})

test.each(REQUIRED)('reports for %s that %s is missing', (type, key) => {
  const { [key]: _left, ...options }: Record<string, string> = VENDORS[type].options
  const planned = planBackend(backend(type, 'http://127.0.0.1:1', { options }))
  expect(!planned.ok && planned.problem).toContain(`backend ${type} is off: ${key} is missing. Set ${key}`)
})

test("sends Weave's project as resource attributes", async () => {
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

test('reports an endpoint that is not a URL', () => {
  const planned = planBackend(backend('otlp', 'localhost:4318'))
  expect(!planned.ok && planned.problem).toBe(
    'backend otlp is off: endpoint is not a URL. It starts with http:// or https://',
  )
})

test.each([
  ['nothing for a file', 'file', '', 0],
  ['node:http', 'jaeger', 'http://127.0.0.1:4318', 1],
  ['also node:https for an https address', 'otlp', 'https://collector.test', 2],
] as const)('loads in advance %s', (_, type, endpoint, count) => {
  expect(loadsToSend([backend(type, endpoint, { options: { path: '/tmp/spans.jsonl' } })])).toHaveLength(count)
})

describe("the address of a trace's page and API", () => {
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
  ] as const)('is known for %s', (type, endpoint, options, view, readBack) => {
    const links = traceLinks(backend(type, endpoint, { options }), id, 'my project')
    expect(links.view).toBe(view)
    expect(links.readBack?.url).toBe(readBack)
  })

  test('puts no secret into an address, and headers only where needed', () => {
    for (const type of HTTP_TYPES) {
      const { options } = VENDORS[type]
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
