// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how a file names a variable
import { expect, test } from 'vitest'
import { BACKEND_TYPES, BACKENDS, isBackendType } from '../../../src/delivery/backends/rows.ts'
import { isShownField, ownFields } from '../../../src/plugin/config/backends.ts'
import type { BackendConfig, UserConfig } from '../../../src/plugin/config/types.ts'
import { messages, resolved } from './scratch-home.ts'

function backends(list: unknown, env: Record<string, string> = {}) {
  const resolution = resolved({ code: { backends: list } as UserConfig, env })
  const lines = messages(resolution).map(line =>
    line.replace(/^config: backends/, '').replace(' (options in code)', ''),
  )
  return { list: resolution.config.backends, lines }
}

function one(backend: object, env: Record<string, string> = {}): BackendConfig | undefined {
  return backends([backend], env).list[0]
}

test('includes all types of the specification', () => {
  const names =
    'otlp jaeger tempo phoenix langfuse signoz uptrace openobserve honeycomb lgtm weave langsmith datadog mlflow elastic'
  expect(BACKEND_TYPES).toEqual([...names.split(' '), 'file', 'console'])
})

test.each(BACKEND_TYPES)("has the pipeline's fields and secrets: %s", type => {
  const { options = {} } = BACKENDS[type] ?? {}
  expect([...ownFields(type)].sort()).toEqual(Object.keys(options).sort())
  expect(ownFields(type).filter(field => !isShownField(field))).toEqual(
    ownFields(type).filter(field => options[field]?.secret),
  )
})

test('includes every type of the pipeline', () => {
  expect(Object.keys(BACKENDS).filter(type => !isBackendType(type))).toEqual([])
})

test('reads every field of a backend from a file', () => {
  const yaml = `backends:
  - type: OTLP
    name: collector.eu_1
    endpoint: https://collector.example.com/v1/traces
    headers: {X-Tenant: "7", Authorization: "Bearer \${TOKEN}"}
    headers_command: [~/bin/token, --for, 7]
    protocol: http/json
    compression: gzip
    timeout_ms: 2500
    traces: yes
    metrics: no
    logs: true
    temporality: delta
    certificate: ~/ca.pem
    client_certificate: ~/client.pem
    client_key: ~/client.key
  - type: file
    path: ~/spans.jsonl`
  const resolution = resolved({ yaml, env: { TOKEN: 'abc' } })
  const home = resolution.config.backends[1]?.options['path']?.replace('/spans.jsonl', '')
  expect(messages(resolution)).toEqual([])
  expect(resolution.config.backends).toEqual([
    {
      type: 'otlp',
      name: 'collector.eu_1',
      endpoint: 'https://collector.example.com/v1/traces',
      headers: { 'x-tenant': '7', authorization: 'Bearer abc' },
      headers_command: [`${home}/bin/token`, '--for', '7'],
      protocol: 'http/json',
      compression: 'gzip',
      timeout_ms: 2500,
      traces: true,
      metrics: false,
      logs: true,
      temporality: 'delta',
      certificate: `${home}/ca.pem`,
      client_certificate: `${home}/client.pem`,
      client_key: `${home}/client.key`,
      options: {},
    },
    { type: 'file', name: 'file', headers: {}, options: { path: expect.stringMatching(/^\/.+\/spans\.jsonl$/) } },
  ])
})

test.each(
  [['bin/token'], ['./token', 'x'], [''], [], 'gcloud auth print-access-token', { a: 1 }].map(command => [command]),
)('refuses %j as a command for headers, without showing it', headers_command => {
  const { list, lines } = backends([{ type: 'otlp', headers_command }])
  expect(list[0]).not.toHaveProperty('headers_command')
  expect(lines).toEqual([
    expect.stringMatching(/expected a list of a program, as a name or an absolute path, and its arguments/),
  ])
  expect(lines.join()).not.toContain('token')
})

test('accepts short forms: a type, a type and an address, an address', () => {
  const texts = ['console', 'file=/tmp/a=b.jsonl', 'phoenix=http://127.0.0.1:6006', 'http://h:4318/?a=b']
  const expected = [
    { type: 'console', name: 'console', headers: {}, options: {} },
    { type: 'file', name: 'file', headers: {}, options: { path: '/tmp/a=b.jsonl' } },
    { type: 'phoenix', name: 'phoenix', endpoint: 'http://127.0.0.1:6006', headers: {}, options: {} },
    { type: 'otlp', name: 'otlp', endpoint: 'http://h:4318/?a=b', headers: {}, options: {} },
  ]
  expect(backends(texts)).toEqual({ list: expected, lines: [] })
  expect(backends({ type: 'console' }).list).toEqual(expected.slice(0, 1))
  expect(resolved({ env: { HOOKSPAN_BACKENDS: ` ${texts.join(' , ')},` } }).config.backends).toEqual(expected)
})

test('makes names unique regardless of case, and safe as file names', () => {
  const names = (...list: object[]) =>
    backends(list.map(backend => ({ type: 'otlp', ...backend }))).list.map(b => b.name)
  expect(names({}, {}, {})).toEqual(['otlp', 'otlp-2', 'otlp-3'])
  expect(names({ name: 'otlp-2' }, {}, { name: 'OTLP' }, {})).toEqual(['otlp-2', 'otlp', 'OTLP-3', 'otlp-4'])
  for (const name of ['../../x', 'a/b', '.x', 'a b', 'x'.repeat(65), 5]) {
    const { list, lines } = backends([{ type: 'otlp', name }])
    expect(list[0]?.name).toBe('otlp')
    expect(lines).toEqual([expect.stringMatching(/^\[0\]\.name: expected letters, digits, .*; using otlp$/)])
  }
})

test('omits only the backend of an unknown type', () => {
  const { list, lines } = backends([{ type: 'phenix' }, { type: 'zzz' }, {}, 5, 'console', { type: 'x'.repeat(30) }])
  expect(list.map(backend => backend.type)).toEqual(['console'])
  const all = BACKEND_TYPES.join(', ')
  expect(lines).toEqual([
    '[0].type: expected a type of backend, got "phenix"; did you mean phoenix? Leaving this backend out',
    `[1].type: expected one of ${all}, got "zzz"; leaving this backend out`,
    '[2]: there is no type; leaving this backend out',
    '[3]: expected a backend, got a number; leaving this backend out',
    `[5].type: expected one of ${all}, got other text; leaving this backend out`,
  ])
})

test.each([
  ['localhost:4318', '"localhost:4318"'],
  ['ftp://h', 'text that begins with "ftp://"'],
  ['htp://127.0.0.1:4318', 'text that begins with "htp://"'],
  ['http//127.0.0.1:4318', 'text that begins with "http//"'],
  ['http:/127.0.0.1:4318', 'text that begins with "http:/"'],
  ['http://127.0.0.1:99999', 'one whose host or port is invalid'],
  ['collector.internal:4318/v1/traces', '"collector.internal:4318/v1/traces"'],
  ['http://', 'one whose host or port is invalid'],
  ['user:pw@host:4318', 'other text'],
  ['http://u:p@ho st', 'one whose host or port is invalid'],
  ['a-secret://x', 'other text'],
  [5, '5'],
])('omits a backend with the endpoint %j: there is no address to guess', (endpoint, got) => {
  expect(backends([{ type: 'otlp', endpoint }])).toEqual({
    list: [],
    lines: [`[0].endpoint: expected an http:// or https:// URL, got ${got}; leaving this backend out`],
  })
})

test('omits a backend with an endpoint or base_url whose variable is not set', () => {
  const { list, lines } = backends([
    { type: 'otlp', endpoint_env: 'COLLECTOR_URL' },
    { type: 'langfuse', base_url_env: 'LANGFUSE_URL' },
  ])
  expect(list).toEqual([])
  expect(lines).toEqual([
    '[0].endpoint_env: the variable COLLECTOR_URL is not set; leaving this backend out',
    '[1].base_url_env: the variable LANGFUSE_URL is not set; leaving this backend out',
  ])
  expect(messages(resolved({ yaml: 'backends:\n  - type: otlp\n    endpoint: ${URL}' }))).toEqual([
    'config: backends[0].endpoint: the variable URL is not set (config.yaml line 3); leaving this backend out',
  ])
})

test('converts credentials in an address to a header that an explicit one replaces', () => {
  const endpoint = 'https://us%40er:p%3Aw@h.example/otlp?x=1'
  const authorization = `Basic ${Buffer.from('us@er:p:w').toString('base64')}`
  expect(one({ type: 'otlp', endpoint })).toMatchObject({
    endpoint: 'https://h.example/otlp?x=1',
    headers: { authorization },
  })
  expect(one({ type: 'otlp', endpoint, headers: { Authorization: 'mine' } })?.headers).toEqual({
    authorization: 'mine',
  })
  expect(one({ type: 'langfuse', base_url: 'http://u:p@h' })).toMatchObject({
    options: { base_url: 'http://h/' },
    headers: { authorization: expect.stringMatching(/^Basic /) },
  })
})

test('warns about a port of the other protocol, and uses it', () => {
  const { list, lines } = backends([
    { type: 'otlp', endpoint: 'http://h:4317' },
    { type: 'phoenix', endpoint: 'http://h:4317' },
    { type: 'otlp', endpoint: 'http://h:4318', protocol: 'grpc' },
    { type: 'otlp', endpoint: 'http://h:4317', protocol: 'grpc' },
  ])
  expect(list[0]?.endpoint).toBe('http://h:4317')
  expect(list.map(({ protocol }) => protocol)).toEqual([undefined, undefined, 'grpc', 'grpc'])
  expect(lines).toEqual([
    '[0].endpoint: port 4317 is usually gRPC; set protocol: grpc, or use the port of OTLP over HTTP, usually 4318',
    '[1].endpoint: port 4317 is usually gRPC; OTLP over HTTP is usually on port 4318',
    '[2].endpoint: port 4318 is usually OTLP over HTTP; gRPC is usually on port 4317',
  ])
})

test('reads <x> from the variable that <x>_env names', () => {
  const env = { PUBLIC: 'pk', SECRET: 'sk', HEADERS: 'a=b%20c,d=e', MILLIS: '50' }
  expect(
    one(
      {
        type: 'langfuse',
        public_key_env: 'PUBLIC',
        secret_key_env: 'SECRET',
        headers_env: 'HEADERS',
        timeout_ms_env: 'MILLIS',
      },
      env,
    ),
  ).toEqual({
    type: 'langfuse',
    name: 'langfuse',
    headers: { a: 'b c', d: 'e' },
    timeout_ms: 50,
    options: { public_key: 'pk', secret_key: 'sk' },
  })
})

test("reads a vendor's usual variables for absent fields", () => {
  const env = {
    LANGFUSE_PUBLIC_KEY: 'pk-lf-env',
    LANGFUSE_SECRET_KEY: 'sk-lf-env',
    LANGFUSE_HOST: 'http://127.0.0.1:3000',
    OWN_SECRET: 'sk-lf-own',
  }
  expect(one({ type: 'langfuse' }, env)?.options).toEqual({
    public_key: 'pk-lf-env',
    secret_key: 'sk-lf-env',
    base_url: 'http://127.0.0.1:3000',
  })
  const named = {
    type: 'langfuse',
    public_key: 'pk-lf-file',
    secret_key_env: 'OWN_SECRET',
    base_url: 'http://127.0.0.1:4000',
  }
  expect(one(named, env)?.options).toEqual({
    public_key: 'pk-lf-file',
    secret_key: 'sk-lf-own',
    base_url: 'http://127.0.0.1:4000',
  })
  expect(backends([{ type: 'langfuse' }], { LANGFUSE_HOST: 'ftp://nowhere' })).toEqual({
    list: [],
    lines: [expect.stringContaining('LANGFUSE_HOST')],
  })
  expect(one({ type: 'jaeger' }, env)?.options).toEqual({})
})

test.each([
  ['phoenix', { PHOENIX_API_KEY: 'k' }, { api_key: 'k' }],
  ['uptrace', { UPTRACE_DSN: 'https://k@uptrace.example' }, { dsn: 'https://k@uptrace.example' }],
  ['honeycomb', { HONEYCOMB_API_KEY: 'k', HONEYCOMB_DATASET: 'd' }, { api_key: 'k', dataset: 'd' }],
  ['weave', { WANDB_API_KEY: 'k', WANDB_ENTITY: 'e', WANDB_PROJECT: 'p' }, { api_key: 'k', entity: 'e', project: 'p' }],
  ['langsmith', { LANGSMITH_API_KEY: 'k', LANGCHAIN_PROJECT: 'p' }, { api_key: 'k', project: 'p' }],
  ['datadog', { DD_API_KEY: 'k', DD_SITE: 'datadoghq.eu' }, { api_key: 'k', site: 'datadoghq.eu' }],
  ['mlflow', { MLFLOW_EXPERIMENT_ID: '7', MLFLOW_TRACKING_TOKEN: 'k' }, { experiment_id: '7', token: 'k' }],
  ['elastic', { ELASTIC_APM_SECRET_TOKEN: 'k' }, { secret_token: 'k' }],
])('reads the variables of %s', (type, env, options) => {
  expect(one({ type }, env)?.options).toEqual(options)
})

test('loses the field of an unset variable; with both, uses the variable if possible', () => {
  const { list, lines } = backends(
    [
      { type: 'phoenix', api_key_env: 'PHOENIX_KEY' },
      { type: 'phoenix', api_key: 'literal', api_key_env: 'PHOENIX_KEY' },
      { type: 'phoenix', api_key: 'literal', api_key_env: 'OTHER_KEY' },
      { type: 'phoenix', api_key_env: 'no name' },
    ],
    { OTHER_KEY: 'other' },
  )
  expect(list.map(backend => backend.options)).toEqual([{}, { api_key: 'literal' }, { api_key: 'other' }, {}])
  expect(lines).toEqual([
    '[0].api_key_env: the variable PHOENIX_KEY is not set; leaving it out',
    '[1].api_key_env: the variable PHOENIX_KEY is not set; using api_key',
    '[2].api_key_env: there is api_key, too; using the variable',
    '[3].api_key_env: expected the name of an environment variable; leaving it out',
  ])
})

test('leaves an unusable field to the type', () => {
  const { list, lines } = backends([
    {
      type: 'otlp',
      protocol: 'thrift',
      compression: 'zstd',
      timeout_ms: 0,
      traces: 'maybe',
      temporality: [],
      certificate: 5,
    },
  ])
  expect(list).toEqual([{ type: 'otlp', name: 'otlp', headers: {}, options: {} }])
  expect(lines).toEqual([
    '[0].protocol: expected http/protobuf, http/json or grpc, got "thrift"; using the default of its type',
    '[0].compression: expected gzip or none, got "zstd"; using the default of its type',
    '[0].timeout_ms: expected a number ≥ 1, got 0; using the default of its type',
    '[0].traces: expected true or false, got "maybe"; using the default of its type',
    '[0].temporality: expected cumulative, delta or lowmemory, got a list; using the default of its type',
    '[0].certificate: expected text, got 5; using the default of its type',
  ])
})

test('reports a field that the type does not have, and keeps it for a later type', () => {
  const { list, lines } = backends([{ type: 'phoenix', api_kee: 'x', dataset: 'y', endpiont: 'z' }])
  expect(lines).toEqual([
    '[0].api_kee: phoenix has no such field; did you mean api_key?',
    '[0].dataset: phoenix has no such field',
    '[0].endpiont: phoenix has no such field; did you mean endpoint?',
  ])
  expect(list[0]?.options).toEqual({ api_kee: 'x', dataset: 'y', endpiont: 'z' })
})

test('omits invalid HTTP headers one by one', () => {
  const headers = { good: 'yes', 'bad name': 'x', bad: 'a\r\nb', list: [1], number: 7, absent: undefined }
  const { list, lines } = backends([
    { type: 'otlp', headers },
    { type: 'otlp', headers: 5 },
  ])
  expect(list.map(backend => backend.headers)).toEqual([{ good: 'yes', number: '7' }, {}])
  expect(lines).toEqual([
    '[0].headers: the name of a header holds characters that HTTP does not allow; leaving the header out',
    '[0].headers: a header holds characters that HTTP does not allow; leaving the header out',
    '[0].headers: expected text, got a list; leaving the header out',
    '[1].headers: expected a mapping of names to texts, got a number; leaving them out',
  ])
})

test('treats an empty list as a decision: no other source is read', () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://h:4318' }
  expect(resolved({ yaml: 'backends: []', env }).config.backends).toEqual([])
  expect(resolved({ yaml: 'backends: [console]', env, code: { backends: [] } }).config.backends).toEqual([])
})
