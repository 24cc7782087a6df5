import { afterEach, beforeEach, expect, test } from 'vitest'
import { send } from '../../src/cli/commands/send.ts'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { OtlpSink } from '../support/otlp-sink.ts'
import { CLIENT_FIELDS, mutualTls } from '../support/tls/files.ts'
import { DoctorScene, linesOf, section } from './doctor-scene.ts'
import { fakeIo } from './fake-io.ts'

let scene: DoctorScene
beforeEach(() => {
  scene = new DoctorScene()
})
afterEach(() => scene.remove())

function configure(type: string, endpoint: string, fields: object): void {
  scene.configure(JSON.stringify({ backends: [{ type, endpoint, ...fields }] }))
}

test('sends from doctor to a server that requires a certificate, and reads the trace back', async () => {
  const server = await scene.traceServer('127.0.0.1', [0], mutualTls())
  configure('phoenix', server.url, CLIENT_FIELDS)
  const diagnosis = await scene.doctor()
  expect(linesOf(diagnosis, 'fail')).toEqual([])
  expect(section(diagnosis, 'Backends')[0]).toContain(`phoenix ${server.url}/v1/traces: delivered and read back`)
  expect(server.asked.length).toBeGreaterThan(0)
})

test("reports in doctor the missing file, and the server's answer", async () => {
  const server = await scene.traceServer('127.0.0.1', [0], mutualTls())
  const client_key = scene.put('keys/none.key', 's3cret')
  configure('phoenix', server.url, { ...CLIENT_FIELDS, client_key })
  const diagnosis = await scene.doctor()
  expect(linesOf(diagnosis, 'fail')).toEqual([
    expect.stringMatching(
      /^phoenix: client_key \S+none\.key is no key in PEM without a passphrase \(ERR_\w+\); both are left out$/,
    ),
    expect.stringMatching(
      /^phoenix: https:\S+ ended the TLS handshake \(ERR_\w+\).* → Set client_certificate and client_key/,
    ),
  ])
  expect(diagnosis.stdout).not.toContain('s3cret')
})

test('delivers a backlog with send to a server that requires a certificate', async () => {
  configure('otlp', await scene.deadUrl(), { ...CLIENT_FIELDS, metrics: false })
  const diagnostics = { warn: () => undefined, error: () => undefined, debug: () => undefined }
  const { home } = scene
  const plugin = createPluginIn({ host: 'agent' }, { env: {}, home, isReplay: true, diagnostics })
  const ids = { session_id: 's', turn_id: 't' }
  plugin.on('pre_llm_call', { ...ids, model: 'm' })
  plugin.on('on_session_end', { ...ids, completed: true })
  await plugin.shutdown()
  const sink = scene.uses(await OtlpSink.start({ kind: 'ok' }, mutualTls()))
  configure('otlp', sink.url, { ...CLIENT_FIELDS, metrics: false })
  const io = fakeIo({ home })
  expect(await send.run([], io)).toBe(0)
  expect(io.written.stdout).toContain('otlp got 2 spans; nothing is pending')
  expect(sink.spanNames.toSorted()).toEqual(['agent', 'llm.m'])
})
