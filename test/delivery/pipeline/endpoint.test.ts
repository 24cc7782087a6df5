import { expect, test } from 'vitest'
import { shownUrl } from '../../../src/delivery/backends/http-url.ts'
import { baseUrl, exactUrl, signalUrl } from '../../../src/delivery/pipeline/backend-plan.ts'

test.each([
  ['http://127.0.0.1:4318', 'http://127.0.0.1:4318/v1/traces'],
  ['http://127.0.0.1:4318/', 'http://127.0.0.1:4318/v1/traces'],
  ['http://127.0.0.1:4318/v1/traces', 'http://127.0.0.1:4318/v1/traces'],
  ['http://127.0.0.1:4318/v1/traces/', 'http://127.0.0.1:4318/v1/traces'],
  ['https://host.test/api/public/otel', 'https://host.test/api/public/otel/v1/traces'],
  ['https://host.test/api/public/otel//', 'https://host.test/api/public/otel/v1/traces'],
  ['https://host.test/otlp/v1/metrics', 'https://host.test/otlp/v1/traces'],
  ['https://host.test/v1/traces?tenant=a', 'https://host.test/v1/traces?tenant=a'],
  ['https://host.test/v1', 'https://host.test/v1/v1/traces'],
  ['HTTP://HOST.test:80', 'http://host.test/v1/traces'],
])('sends traces for %s to %s', (endpoint, url) => {
  expect(signalUrl(endpoint, 'traces')).toBe(url)
})

test.each([
  ['http://127.0.0.1:4318', 'http://127.0.0.1:4318/v1/metrics'],
  ['http://127.0.0.1:4318/v1/traces', 'http://127.0.0.1:4318/v1/metrics'],
])('sends metrics for %s to %s', (endpoint, url) => {
  expect(signalUrl(endpoint, 'metrics')).toBe(url)
})

test.each(['localhost:4318', '127.0.0.1:4318', 'grpc://host:4317', '', 'http://', 'file:///etc/passwd'])(
  'rejects %o as an endpoint',
  endpoint => {
    expect(signalUrl(endpoint, 'traces')).toBeUndefined()
  },
)

test.each([
  ['http://host.test/ingest/spans/?tenant=a', 'http://host.test/ingest/spans/?tenant=a'],
  ['http://host.test/v1/metrics', 'http://host.test/v1/metrics'],
  ['http://host.test', 'http://host.test/'],
  ['localhost:4318', undefined],
])('sends as is from %s to %s', (endpoint, url) => {
  expect(exactUrl(endpoint)).toBe(url)
})

test('derives the base URL for user interfaces', () => {
  expect(baseUrl('http://user:pw@host.test:6006/v1/traces')).toBe('http://host.test:6006')
  expect(baseUrl('http://host.test/prefix/')).toBe('http://host.test/prefix')
})

test('shows a URL without credentials and query', () => {
  expect(shownUrl('https://user:pw@host.test/v1/traces?key=abc')).toBe('https://host.test/v1/traces')
})
