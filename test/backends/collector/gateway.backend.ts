import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { send } from '../../../src/cli/commands/send.ts'
import type { PluginOptions } from '../../../src/index.ts'
import { createPluginIn } from '../../../src/plugin/create-plugin.ts'
import { fakeIo } from '../../cli/fake-io.ts'
import { put } from '../../plugin/config/scratch-home.ts'
import { OtlpSink, type SinkRecord } from '../../support/otlp-sink.ts'
import { CLIENT_FIELDS, tlsFile } from '../../support/tls/files.ts'
import { JaegerQuery } from '../jaeger/query.ts'
import { until } from '../prometheus/until.ts'
import { type Gateway, startGateway } from '../servers/gateway.ts'
import { startJaeger } from '../servers/jaeger.ts'
import { spansOfFiles } from '../workload/fed-span.ts'
import { feedWorkload, treeSpan, treeText, workload } from '../workload/feed.ts'

let home: string
let store: OtlpSink
let gateway: Gateway

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-gateway-'))
  store = await OtlpSink.start()
  gateway = await startGateway(store.url, join(home, 'queue'))
})

afterEach(async () => {
  await gateway.stop()
  await store.stop()
  rmSync(home, { recursive: true, force: true })
})

const QUIET = { warn: () => undefined, error: () => undefined, debug: () => undefined }

function agent(fields: object = CLIENT_FIELDS): PluginOptions {
  return { backends: [{ type: 'otlp', endpoint: gateway.otlpUrl, metrics: false, ...fields }] }
}

function idsOf(spans: readonly { readonly traceId?: string; readonly spanId?: string }[]): string[] {
  return spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`).toSorted()
}

/** What the store was sent, from `first` on, whatever it answered. */
function sent(first = 0): readonly SinkRecord[] {
  return store.requests.slice(first).flatMap(({ path, records }) => (path === '/v1/traces' ? records : []))
}

async function arrived(wanted: readonly string[], first = 0): Promise<string[]> {
  const spans = await until(
    async () => idsOf(sent(first)),
    ids => {
      const left = wanted.filter(id => !ids.includes(id)).length
      return left === 0 ? undefined : { wanted: wanted.length, left }
    },
    'spans behind the gateway',
  )
  return [...spans]
}

/** The gateway has answered 200 for all of it when this resolves. */
async function feed(config: PluginOptions = agent(), turns = home): Promise<string[]> {
  const { spans } = await feedWorkload({ home: turns, config, scenarios: ['pi'] })
  return idsOf(spans)
}

describe('a gateway', () => {
  test('forwards traces and metrics of an agent that shows one', async () => {
    const spans = await feed(agent({ ...CLIENT_FIELDS, metrics: true }))
    expect(await arrived(spans)).toEqual(spans)
    await until(
      async () => store.metricNames,
      names => (names.includes('hermes.sessions') ? undefined : names),
      'metrics',
    )
  })

  test.each([
    ['none', { certificate: CLIENT_FIELDS.certificate }],
    [
      'one of a stranger',
      { ...CLIENT_FIELDS, client_certificate: tlsFile('stranger.pem'), client_key: tlsFile('stranger.key') },
    ],
  ])('rejects an agent that shows %s, which reports that and keeps its data', async (_what, fields) => {
    const lines: string[] = []
    const say = (line: string): number => lines.push(line)
    const diagnostics = { ...QUIET, warn: say, error: say }
    const plugin = createPluginIn({ host: 'agent', ...agent(fields) }, { env: {}, home, isReplay: true, diagnostics })
    plugin.on('pre_llm_call', { session_id: 's', turn_id: 't', model: 'm' })
    plugin.on('on_session_end', { session_id: 's', turn_id: 't', completed: true })
    await plugin.shutdown()
    expect(lines[0]).toMatch(/backend otlp: https:\S+ ended the TLS handshake \(ERR_SSL_\w+\)/)
    expect(plugin.stats().backends.find(({ name }) => name === 'otlp')).toMatchObject({
      delivered: 0,
      dropped: 0,
      spooled: 2,
    })
    expect(sent()).toEqual([])
  })
})

test('loses nothing when killed between its answer and its export, and started again', async () => {
  store.behaviour = { kind: 'status', status: 503 }
  const spans = await feed()
  await store.until(() => sent().length >= spans.length)
  await gateway.kill()
  store.behaviour = { kind: 'ok' }
  const first = store.requests.length
  await gateway.start()
  expect(await arrived(spans, first)).toEqual(spans)
})

test('loses nothing when killed before the store has answered, and sends its queue again', async () => {
  store.behaviour = { kind: 'hanging' }
  const spans = await feed()
  await store.until(() => sent().length > 0)
  await gateway.kill()
  store.behaviour = { kind: 'ok' }
  const first = store.requests.length
  await gateway.start()
  expect(await arrived(spans, first)).toEqual(spans)
})

test('delivers each span once when the store is down and returns', async () => {
  store.behaviour = { kind: 'status', status: 503 }
  const spans = await feed()
  await store.until(() => sent().length > 0)
  const refused = store.requests.length
  store.behaviour = { kind: 'ok' }
  // What came while it was down was refused: of what it took, nothing came twice.
  expect(await arrived(spans, refused)).toEqual(spans)
})

test('loses nothing when killed and started again while agents send: they send rejected data later', async () => {
  const homes = ['one', 'two', 'three'].map(name => join(home, name))
  const config = { ...agent(), span_batch_max_export_batch_size: 2, host: 'agent' }
  const plugins = homes.map(place =>
    createPluginIn(config, { env: {}, home: place, isReplay: true, diagnostics: QUIET }),
  )
  const records = await workload(['pi'])
  const sending = plugins.map(async plugin => {
    for (const { hook, payload, meta } of records) void plugin.emitUntyped(hook, payload, meta)
    await plugin.flush()
  })
  await Promise.race([Promise.all(sending), store.until(() => sent().length > 0)])
  await gateway.kill()
  await Promise.all(sending)
  await Promise.all(plugins.map(plugin => plugin.shutdown()))
  await gateway.start()
  for (const place of homes) {
    put(place, '.config/hookspan/config.yaml', JSON.stringify(agent()))
    expect(await send.run([], fakeIo({ home: place }))).toBe(0)
  }
  const spans = idsOf(plugins.flatMap(plugin => spansOfFiles(plugin.stats().traceFiles)))
  expect(spans.length).toBeGreaterThan(100)
  // Killed between its disk and its answer, it is told again what it has: at least once, with the same ids.
  expect([...new Set(await arrived(spans))].toSorted()).toEqual(spans)
})

test('delivers the traces as drawn to a Jaeger behind it', async () => {
  const jaeger = await startJaeger()
  const other = await startGateway(jaeger.otlpUrl, join(home, 'jaeger-queue'))
  try {
    const backend = { type: 'otlp', endpoint: other.otlpUrl, metrics: false, ...CLIENT_FIELDS } as const
    const fed = await feedWorkload({ home, config: { backends: [backend] }, scenarios: ['pi'] })
    const query = new JaegerQuery(jaeger.url)
    const traceIds = [...new Set(fed.spans.map(({ traceId }) => traceId))]
    const stored = await until(
      async () => (await Promise.all(traceIds.map(traceId => query.trace(traceId, { raw: true })))).flat(),
      spans => (spans.length === fed.spans.length ? undefined : { fed: fed.spans.length, stored: spans.length }),
      'spans in Jaeger',
    )
    expect(treeText(stored.map(treeSpan))).toBe(treeText(fed.spans.map(treeSpan)))
  } finally {
    await other.stop()
    await jaeger.stop()
  }
})
