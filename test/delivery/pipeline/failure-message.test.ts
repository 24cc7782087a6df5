import { expect, test } from 'vitest'
import type { DeliveryFailure } from '../../../src/delivery/pipeline/delivery.ts'
import { type BackendFacts, describeFailure, failureClass } from '../../../src/delivery/pipeline/delivery-report.ts'

const facts: BackendFacts = {
  name: 'mine',
  type: 'otlp',
  urls: { traces: 'https://user:pw@collector.test/v1/traces?key=abc', metrics: 'https://collector.test/v1/metrics' },
  protocol: 'http/protobuf',
  credentials: 'headers',
  defaultEndpoint: 'http://127.0.0.1:4318',
}

const network = (code: string): DeliveryFailure => ({ kind: 'network', code })

test.each([
  [network('ENOTFOUND'), 'the host of https://collector.test/v1/traces is not known. Correct endpoint'],
  [network('EAI_AGAIN'), 'could not be looked up'],
  [network('ETIMEDOUT'), 'no connection to https://collector.test/v1/traces'],
  [network('EHOSTUNREACH'), 'no connection to'],
  [
    network('DEPTH_ZERO_SELF_SIGNED_CERT'),
    'is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT). Correct it, or set certificate',
  ],
  [network('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'is not trusted'],
  [
    network('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
    'it wants a certificate that it knows. Set client_certificate',
  ],
  [network('EPROTO'), 'does not speak TLS. Set endpoint to the http:// URL, or client_certificate if it asks for one'],
  [network('EWEIRD'), 'cannot be reached (EWEIRD)'],
  [{ kind: 'status', status: 418 }, 'answered 418, which is not a success'],
  [
    { kind: 'file', code: 'ENOSPC', path: '/a/b' },
    'cannot write /a/b: the disk is full (ENOSPC). Free some space on that disk or choose another path;',
  ],
  [
    { kind: 'file', code: 'EACCES', path: '/a/b' },
    'it may not be written (EACCES). Make it writable or choose another path;',
  ],
] as const)('formats %o as: %s', (failure, expected) => {
  const line = describeFailure(facts, 'traces', failure)
  expect(line).toContain(expected)
  expect(line).not.toMatch(/pw|abc|\n/)
})

test('does not call an exact address a base URL', () => {
  const line = describeFailure({ ...facts, isExact: true }, 'traces', { kind: 'status', status: 404 })
  expect(line).toContain('The endpoint is used as it is and usually ends in /v1/traces; correct endpoint')
})

test('groups causes with the same remedy', () => {
  expect(failureClass({ kind: 'status', status: 401 })).toBe(failureClass({ kind: 'status', status: 403 }))
  expect(failureClass({ kind: 'status', status: 404 })).toBe(failureClass({ kind: 'status', status: 405 }))
  expect(failureClass({ kind: 'status', status: 500 })).not.toBe(failureClass({ kind: 'status', status: 503 }))
})
