import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readTlsFiles } from '../../../src/delivery/pipeline/tls-files.ts'
import { afterwards } from '../../support/afterwards.ts'
import { OtlpSink } from '../../support/otlp-sink.ts'
import { CLIENT_FIELDS, mutualTls, tlsFile } from '../../support/tls/files.ts'
import {
  backend,
  countPoint,
  Lines,
  openPipeline,
  PROTOCOLS,
  recordSpans,
  scratchDirectory,
} from './pipeline-fixture.ts'

async function startTlsSink(): Promise<OtlpSink> {
  const sink = await OtlpSink.start({ kind: 'ok' }, mutualTls())
  afterwards(() => sink.stop())
  return sink
}

test.each(PROTOCOLS)('sends traces and metrics as %s to a server that requires a certificate', async protocol => {
  const sink = await startTlsSink()
  const lines = new Lines()
  const pipeline = openPipeline({ backends: [backend('otlp', sink.url, { protocol, ...CLIENT_FIELDS })] }, lines)
  recordSpans(pipeline, 'one')
  countPoint(pipeline, 'points')
  await pipeline.flush()
  expect(sink.url).toMatch(/^https:/)
  expect(sink.spanNames).toEqual(['one'])
  expect(sink.metricNames).toContain('points')
  expect(lines.said).toEqual([])
})

const { certificate, client_certificate, client_key } = CLIENT_FIELDS

test.each([
  ['no authority', { client_certificate, client_key }, /the certificate of https:\S+ is not trusted/],
  ['no certificate of our own', { certificate }, /otlp: https:\S+ (ended the TLS handshake|closed the connection)/],
  [
    'a certificate that the server does not know',
    { certificate, client_certificate: tlsFile('stranger.pem'), client_key: tlsFile('stranger.key') },
    /otlp: https:\S+ (ended the TLS handshake|closed the connection)/,
  ],
])('delivers nothing with %s, and reports it in one line', async (_what, fields, expected) => {
  const sink = await startTlsSink()
  const lines = new Lines()
  const pipeline = openPipeline({ backends: [backend('otlp', sink.url, { metrics: false, ...fields })] }, lines)
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  expect(sink.requests).toEqual([])
  expect(lines.said[0]).toMatch(expected)
})

const SECRET = 'not-a-key-but-a-secret'

test.each([
  [
    'a key without its certificate',
    { client_key },
    `client_key is set without client_certificate; it is left out. Set client_certificate, too`,
  ],
  [
    'a certificate without its key',
    { client_certificate },
    `client_certificate is set without client_key; it is left out. Set client_key, too`,
  ],
  [
    'a key that is not there',
    { client_certificate, client_key: '/no/such.key' },
    'client_key /no/such.key cannot be read (ENOENT); it is left out. Correct client_key',
  ],
  [
    'a certificate that is not there',
    { client_certificate: '/no/such.pem', client_key },
    'client_certificate /no/such.pem cannot be read (ENOENT); it is left out. Correct client_certificate',
  ],
  [
    'the key of another certificate',
    { client_certificate, client_key: tlsFile('server.key') },
    `client_key ${tlsFile('server.key')} is not the key of client_certificate ${client_certificate} (CODE); both are left out`,
  ],
  [
    'a key where the certificate belongs',
    { client_certificate: client_key, client_key },
    `client_certificate ${client_key} is no certificate in PEM (CODE); both are left out`,
  ],
  [
    'a certificate where the key belongs',
    { client_certificate, client_key: client_certificate },
    `client_key ${client_certificate} is no key in PEM without a passphrase (CODE); both are left out`,
  ],
])('reports %s in one line and still trusts the authority', (_what, fields, expected) => {
  const said: string[] = []
  const files = readTlsFiles({ name: 'b', certificate, ...fields }, line => said.push(line))
  expect(said.map(line => line.replace(/\(ERR_\w+\)/, '(CODE)'))).toEqual([`backend b: ${expected}`])
  expect(files).toEqual({ ca: readFileSync(certificate) })
})

test.each([
  ['text', `${SECRET}\n`],
  ['a key that is cut off', `-----BEGIN PRIVATE KEY-----\n${SECRET}\n`],
  ['a broken key', `-----BEGIN PRIVATE KEY-----\n${btoa(SECRET)}\n-----END PRIVATE KEY-----\n`],
])('never shows the contents of a key file that is %s', async (_what, content) => {
  const path = join(await scratchDirectory(), 'client.key')
  writeFileSync(path, content)
  const said: string[] = []
  expect(readTlsFiles({ name: 'b', client_certificate, client_key: path }, line => said.push(line))).toEqual({})
  expect(said).toHaveLength(1)
  expect(said[0]).toContain(`client_key ${path} is no key in PEM without a passphrase (ERR_`)
  expect(said[0]).not.toMatch(new RegExp(`${SECRET}|${btoa(SECRET)}|\n`))
})
