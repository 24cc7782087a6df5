import { describe, expect, test } from 'vitest'
import { KEY_NAMES, KEY_ROWS } from '../../../src/plugin/config/keys.ts'
import type { KeyName } from '../../../src/plugin/config/types.ts'
import { messages, resolved } from './scratch-home.ts'

type Variables = Record<string, string>

const CASES: [KeyName, Variables, unknown, string][] = [
  ['enabled', { OTEL_SDK_DISABLED: 'TRUE' }, false, 'OTEL_SDK_DISABLED'],
  ['service_name', { OTEL_SERVICE_NAME: 'x' }, 'x', 'OTEL_SERVICE_NAME'],
  ['service_name', { OTEL_RESOURCE_ATTRIBUTES: 'a=b,service.name=x' }, 'x', 'OTEL_RESOURCE_ATTRIBUTES'],
  [
    'resource_attributes',
    { OTEL_RESOURCE_ATTRIBUTES: 'a=b%20c,d=%C3%A9' },
    { a: 'b c', d: 'é' },
    'OTEL_RESOURCE_ATTRIBUTES',
  ],
  ['project_name', { OTEL_PROJECT_NAME: 'x' }, 'x', 'OTEL_PROJECT_NAME'],
  ['sample_rate', { OTEL_TRACES_SAMPLER: 'always_on' }, 1, 'OTEL_TRACES_SAMPLER'],
  ['sample_rate', { OTEL_TRACES_SAMPLER: 'always_off' }, 0, 'OTEL_TRACES_SAMPLER'],
  ['sample_rate', { OTEL_TRACES_SAMPLER: 'parentbased_always_on' }, 1, 'OTEL_TRACES_SAMPLER'],
  ['sample_rate', { OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, 0, 'OTEL_TRACES_SAMPLER'],
  ['sample_rate', { OTEL_TRACES_SAMPLER: 'traceidratio' }, 1, 'OTEL_TRACES_SAMPLER'],
  [
    'sample_rate',
    { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
    0.25,
    'OTEL_TRACES_SAMPLER_ARG',
  ],
  ...['true', 'SPAN_ONLY', 'SPAN_AND_EVENT'].map(word => capture(word, 'full')),
  ...['false', 'NO_CONTENT', 'EVENT_ONLY'].map(word => capture(word, 'off')),
  ['content_max_chars', { OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '500' }, 500, 'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'],
  ['preview_max_chars', { OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '500' }, 500, 'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'],
  ['metrics_interval_ms', { OTEL_METRIC_EXPORT_INTERVAL: '5000' }, 5000, 'OTEL_METRIC_EXPORT_INTERVAL'],
  ['span_batch_max_queue_size', { OTEL_BSP_MAX_QUEUE_SIZE: '700' }, 700, 'OTEL_BSP_MAX_QUEUE_SIZE'],
  ['span_batch_schedule_delay_ms', { OTEL_BSP_SCHEDULE_DELAY: '7' }, 7, 'OTEL_BSP_SCHEDULE_DELAY'],
  ['span_batch_max_export_batch_size', { OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '7' }, 7, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE'],
  ['span_batch_export_timeout_ms', { OTEL_BSP_EXPORT_TIMEOUT: '7' }, 7, 'OTEL_BSP_EXPORT_TIMEOUT'],
  ['prometheus', { OTEL_METRICS_EXPORTER: 'prometheus' }, { host: '127.0.0.1', port: 9464 }, 'OTEL_METRICS_EXPORTER'],
  [
    'prometheus',
    { OTEL_METRICS_EXPORTER: 'Prometheus', OTEL_EXPORTER_PROMETHEUS_HOST: '::', OTEL_EXPORTER_PROMETHEUS_PORT: '1' },
    { host: '::', port: 1 },
    'OTEL_METRICS_EXPORTER',
  ],
]

function capture(word: string, mode: string): [KeyName, Variables, unknown, string] {
  const name = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'
  return ['content_capture', { [name]: word }, mode, name]
}

test.each(CASES)('reads %s from %j', (key, env, value, variable) => {
  const resolution = resolved({ env })
  expect(messages(resolution)).toEqual([])
  expect(resolution.config[key]).toEqual(value)
  expect(resolution.sources.get(key)).toEqual({ from: 'environment', detail: variable })
})

test('has a case above, or in the next part, for every key with such a variable', () => {
  const tested = new Set([...CASES.map(([key]) => key), 'backends'])
  const missing = KEY_NAMES.filter(key => KEY_ROWS[key].otel && !tested.has(key))
  expect(missing).toEqual([])
})

test('prefers them to the file, and HOOKSPAN_<KEY> and code to them', () => {
  const env = { OTEL_SERVICE_NAME: 'otel' }
  expect(resolved({ yaml: 'service_name: file', env }).config.service_name).toBe('otel')
  expect(resolved({ env: { ...env, HOOKSPAN_SERVICE_NAME: 'own' } }).config.service_name).toBe('own')
  expect(resolved({ env, code: { service_name: 'code' } }).config.service_name).toBe('code')
  expect(resolved({ env: { OTEL_SDK_DISABLED: 'true', HOOKSPAN_ENABLED: '1' } }).config.enabled).toBe(true)
})

test('lowers the length limit and never raises it', () => {
  const limit = { OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '500' }
  const yaml = 'content_max_chars: 100\npreview_max_chars: 900'
  expect(resolved({ yaml, env: limit }).config).toMatchObject({ content_max_chars: 100, preview_max_chars: 500 })
  const { config } = resolved({ yaml, env: { ...limit, HOOKSPAN_PREVIEW_MAX_CHARS: '800' } })
  expect(config.preview_max_chars).toBe(800)
})

test('excludes the service name from the other resource attributes', () => {
  const env = { OTEL_SERVICE_NAME: 'right', OTEL_RESOURCE_ATTRIBUTES: 'service.name=wrong,a=b' }
  expect(resolved({ env }).config).toMatchObject({ service_name: 'right', resource_attributes: { a: 'b' } })
})

test('loses only a bad pair', () => {
  const resolution = resolved({ env: { OTEL_RESOURCE_ATTRIBUTES: 'a=1,broken,b=%zz,=x,c=3,' } })
  expect(resolution.config.resource_attributes).toEqual({ a: '1', c: '3' })
  const line = (entry: number) =>
    `config: resource_attributes: entry ${entry} is not name=value, percent-encoded (OTEL_RESOURCE_ATTRIBUTES); leaving it out`
  expect(messages(resolution)).toEqual([line(2), line(3), line(4)])
})

test.each([
  [{ OTEL_SDK_DISABLED: 'perhaps' }, 'enabled: expected true or false, got "perhaps" (OTEL_SDK_DISABLED); using true'],
  [
    { OTEL_BSP_SCHEDULE_DELAY: 'x' },
    'span_batch_schedule_delay_ms: expected a number ≥ 0, got "x" (OTEL_BSP_SCHEDULE_DELAY); using 1000',
  ],
  [
    { OTEL_TRACES_SAMPLER: 'xray' },
    'sample_rate: expected always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off or parentbased_traceidratio, got "xray" (OTEL_TRACES_SAMPLER); using none',
  ],
  [
    { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
    'sample_rate: expected a number from 0 to 1, got "2" (OTEL_TRACES_SAMPLER_ARG); using none',
  ],
  [
    { OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '0' },
    'content_max_chars: expected a whole number ≥ 1, got "0" (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT); using 65535',
  ],
  [
    { OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_PROMETHEUS_PORT: 'x' },
    'prometheus: expected a whole number from 0 to 65535, got "x" (OTEL_EXPORTER_PROMETHEUS_PORT); using none',
  ],
])('warns about %j, because the variable is for every program', (env, line) => {
  expect(resolved({ env }).problems).toEqual([
    { level: 'warning', key: line.slice(0, line.indexOf(':')), message: `config: ${line}` },
  ])
})

describe('backends from the environment', () => {
  const URL_ = 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const backends = (env: Variables, yaml?: string) => {
    const { config, sources, problems } = resolved({ env, ...(yaml === undefined ? {} : { yaml }) })
    return { list: config.backends, source: sources.get('backends'), lines: problems.map(problem => problem.message) }
  }
  const otlp = { type: 'otlp', name: 'otlp', headers: {}, traces: true, metrics: true, logs: false, options: {} }

  test('creates one backend from an endpoint', () => {
    expect(backends({ [URL_]: 'http://h:4318' })).toEqual({
      list: [{ ...otlp, endpoint: 'http://h:4318' }],
      source: { from: 'environment', detail: URL_ },
      lines: [],
    })
  })

  test('sends nothing if backends are configured', () => {
    expect(backends({ [URL_]: 'http://h:4318' }, 'backends: [jaeger]').list.map(backend => backend.type)).toEqual([
      'jaeger',
    ])
    expect(backends({ [URL_]: 'not a URL' }, 'backends: [jaeger]').lines).toEqual([])
  })

  test('reads everything that belongs to the endpoint', () => {
    const { list, lines } = backends({
      [URL_]: 'https://h',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=b%3D,Tenant=x,oops',
      OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca.pem',
      OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: '/client.pem',
      OTEL_EXPORTER_OTLP_CLIENT_KEY: '/client.key',
      OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'DELTA',
    })
    expect(list).toEqual([
      {
        ...otlp,
        endpoint: 'https://h',
        headers: { a: 'b=', tenant: 'x' },
        timeout_ms: 2000,
        compression: 'gzip',
        protocol: 'http/json',
        certificate: '/ca.pem',
        client_certificate: '/client.pem',
        client_key: '/client.key',
        temporality: 'delta',
      },
    ])
    expect(lines).toEqual([
      'config: backends[0].headers: entry 3 is not name=value, percent-encoded (OTEL_EXPORTER_OTLP_HEADERS); leaving it out',
    ])
  })

  test('creates a separate backend for a signal with a client certificate of its own', () => {
    const list = backends({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://h',
      OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: '/client.pem',
      OTEL_EXPORTER_OTLP_CLIENT_KEY: '/client.key',
      OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE: '/metrics.pem',
      OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY: '/metrics.key',
    }).list
    expect(list.map(one => [one.name, one.client_certificate, one.client_key])).toEqual([
      ['otlp', '/client.pem', '/client.key'],
      ['otlp-metrics', '/metrics.pem', '/metrics.key'],
    ])
  })

  test('sends a signal with an address of its own there, and one without any nowhere', () => {
    const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t/v1/traces' }
    const metrics = { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://t/v1/metrics/' }
    const logs = { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://l' }
    const alone = { ...otlp, metrics: false, endpoint: 'http://t/v1/traces' }
    expect(backends(traces).list).toEqual([alone])
    const only = { ...otlp, traces: false, metrics: false, logs: true, endpoint: 'http://l', exact_endpoint: true }
    expect(backends({ ...traces, ...logs }).list).toEqual([alone, { ...only, name: 'otlp-logs' }])
    expect(backends(logs).list).toEqual([only])
    const same = { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://t/v1/logs' }
    expect(backends({ ...traces, ...same }).list).toEqual([{ ...alone, logs: true }])
    expect(backends({ ...traces, ...metrics }).list).toEqual([{ ...alone, metrics: true }])
    expect(backends(metrics).list).toEqual([{ ...otlp, traces: false, logs: false, endpoint: 'http://t/v1/metrics/' }])
  })

  test('uses an address of one signal with a path of its own as is', () => {
    const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t/ingest' }
    const metrics = { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://t/ingest/' }
    const exact = { ...otlp, logs: false, endpoint: 'http://t/ingest', exact_endpoint: true }
    expect(backends(traces)).toMatchObject({ list: [{ ...exact, metrics: false }], lines: [] })
    expect(backends({ ...traces, [URL_]: 'http://t/ingest' }).list).toEqual([
      { ...exact, metrics: false },
      { ...otlp, name: 'otlp-metrics', endpoint: 'http://t/ingest', traces: false },
    ])
    expect(backends({ ...traces, ...metrics }).list).toMatchObject([
      { ...exact, metrics: false },
      { name: 'otlp-metrics', endpoint: 'http://t/ingest/', exact_endpoint: true, traces: false },
    ])
    expect(backends({ ...traces, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://t/ingest' }).list).toEqual([exact])
  })

  test('creates a separate backend for metrics with other settings, with the headers of both', () => {
    const { list, lines } = backends({
      [URL_]: 'http://h',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=1',
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'B=2',
      OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'thrift',
    })
    expect(list).toEqual([
      { ...otlp, endpoint: 'http://h', headers: { a: '1', b: '1' }, metrics: false },
      { ...otlp, name: 'otlp-metrics', endpoint: 'http://h', headers: { a: '1', b: '2' }, traces: false, logs: false },
    ])
    expect(lines).toEqual([
      'config: backends[1].protocol: expected http/protobuf, http/json or grpc, got "thrift" (OTEL_EXPORTER_OTLP_METRICS_PROTOCOL); using the default of its type',
    ])
  })

  test('reads grpc as a protocol, for all signals or for one', () => {
    const of = (env: Variables) => backends(env).list.map(({ endpoint, protocol }) => [endpoint, protocol])
    const protocol = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }
    expect(of({ [URL_]: 'http://h:4317', ...protocol })).toEqual([['http://h:4317', 'grpc']])
    expect(of({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_METRICS_EXPORTER: 'otlp', ...protocol })).toEqual([
      [undefined, 'grpc'],
    ])
    expect(of({ [URL_]: 'http://h', OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'grpc' })).toEqual([
      ['http://h', undefined],
      ['http://h', 'grpc'],
    ])
  })

  test('switches a signal off by none, adds a backend by console, and uses the default address by otlp alone', () => {
    const types = (env: Variables) =>
      backends(env).list.map(({ type, traces, metrics, logs }) => [type, traces, metrics, logs])
    const endpoint = { [URL_]: 'http://h' }
    expect(types({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' })).toEqual([['otlp', false, true, false]])
    expect(types({ ...endpoint, OTEL_METRICS_EXPORTER: 'none' })).toEqual([['otlp', true, false, false]])
    expect(types({ ...endpoint, OTEL_LOGS_EXPORTER: 'none' })).toEqual([['otlp', true, true, false]])
    expect(types({ ...endpoint, OTEL_LOGS_EXPORTER: 'otlp' })).toEqual([['otlp', true, true, true]])
    expect(types({ ...endpoint, OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' })).toEqual([])
    expect(types({ ...endpoint, OTEL_METRICS_EXPORTER: 'prometheus' })).toEqual([['otlp', true, false, false]])
    expect(types({ ...endpoint, OTEL_TRACES_EXPORTER: 'otlp, console' })).toEqual([
      ['otlp', true, true, false],
      ['console', undefined, undefined, undefined],
    ])
    expect(types({ OTEL_TRACES_EXPORTER: 'console' })).toEqual([['console', undefined, undefined, undefined]])
    expect(backends({ OTEL_TRACES_EXPORTER: 'otlp' })).toEqual({
      list: [{ ...otlp, metrics: false, logs: false }],
      source: { from: 'environment', detail: 'OTEL_TRACES_EXPORTER' },
      lines: [],
    })
  })

  test('reports an unsupported exporter, without a replacement', () => {
    expect(backends({ [URL_]: 'http://h', OTEL_TRACES_EXPORTER: 'zipkin', OTEL_METRICS_EXPORTER: 'none' })).toEqual({
      list: [],
      source: { from: 'default' },
      lines: ['config: backends: expected otlp, console or none, got "zipkin" (OTEL_TRACES_EXPORTER); ignoring it'],
    })
  })

  test('omits a backend with an invalid address, as a warning', () => {
    const { problems, config } = resolved({ env: { [URL_]: 'localhost:4318' } })
    expect(config.backends).toEqual([])
    expect(problems).toEqual([
      {
        level: 'warning',
        key: 'backends[0].endpoint',
        message:
          'config: backends[0].endpoint: expected an http:// or https:// URL, got "localhost:4318" (OTEL_EXPORTER_OTLP_ENDPOINT); leaving this backend out',
      },
    ])
  })
})
