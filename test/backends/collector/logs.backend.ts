import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPluginIn } from '../../../src/plugin/create-plugin.ts'
import { OtlpSink } from '../../support/otlp-sink.ts'
import { until } from '../prometheus/until.ts'
import { type CollectorServer, startCollector } from '../servers/collector.ts'

interface LogsRequest {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: readonly Pair[] }
    readonly scopeLogs: readonly { readonly logRecords: readonly LogRecord[] }[]
  }[]
}

interface Pair {
  readonly key: string
  readonly value: { readonly stringValue?: string }
}

interface LogRecord {
  readonly eventName: string
  readonly severityNumber: number
  readonly severityText: string
  readonly timeUnixNano: string
  readonly traceId: string
  readonly spanId: string
  readonly attributes: readonly Pair[]
}

let home: string
let store: OtlpSink
let logs: OtlpSink
let collector: CollectorServer

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-collector-'))
  store = await OtlpSink.start()
  logs = await OtlpSink.start()
  collector = await startCollector({ jaeger: store.url, phoenix: store.url, logs: logs.url })
})

afterAll(async () => {
  await collector?.stop()
  await Promise.all([store?.stop(), logs?.stop()])
  rmSync(home, { recursive: true, force: true })
})

function textOf(pairs: readonly Pair[] | undefined, name: string): string | undefined {
  return pairs?.find(({ key }) => key === name)?.value.stringValue
}

test.each([
  ['http/protobuf', 'none'],
  ['http/protobuf', 'gzip'],
  ['grpc', 'none'],
  ['grpc', 'gzip'],
] as const)('forwards the event of a failed turn over %s, compression %s', async (protocol, compression) => {
  logs.requests.length = 0
  store.requests.length = 0
  const lines: string[] = []
  const say = (line: string): void => void lines.push(line)
  const diagnostics = { warn: say, error: say, debug: () => undefined }
  const endpoint = protocol === 'grpc' ? collector.grpcUrl : collector.otlpUrl
  const plugin = createPluginIn(
    {
      host: 'agent',
      backends: [{ type: 'otlp', endpoint, protocol, metrics: false, logs: true, compression }],
    },
    { env: {}, home, isReplay: false, diagnostics },
  )
  const ids = { session_id: `s-${protocol}-${compression}`, turn_id: 't1' }
  const at = Date.now()
  plugin.on('pre_llm_call', { ...ids, model: 'qwen3', user_message: 'hello' }, { at: at - 100 })
  await plugin.on('on_session_end', { ...ids, failed: true, turn_exit_reason: 'no_more_tokens' }, { at })
  await plugin.shutdown()
  const request = await until(
    async () => logs.requests[0],
    found => (found === undefined ? { came: 0 } : undefined),
    'log events behind the collector',
  )
  const [resourceLogs] = (request?.json as LogsRequest | undefined)?.resourceLogs ?? []
  const [record, ...others] = resourceLogs?.scopeLogs.flatMap(({ logRecords }) => logRecords) ?? []
  expect(others).toEqual([])
  expect(record).toMatchObject({
    eventName: 'hermes.turn.failed',
    severityNumber: 17,
    severityText: 'ERROR',
    timeUnixNano: `${at}000000`,
  })
  expect(textOf(record?.attributes, 'event.name')).toBe('hermes.turn.failed')
  expect(textOf(record?.attributes, 'session.id')).toBe(ids.session_id)
  expect(textOf(resourceLogs?.resource.attributes, 'service.name')).toBe('agent')
  const root = await until(
    async () => store.requests.flatMap(({ records }) => records).find(({ name }) => name === 'agent'),
    found => (found === undefined ? { came: 0 } : undefined),
    'the root behind the collector',
  )
  expect([record?.traceId, record?.spanId]).toEqual([root?.traceId, root?.spanId])
  expect(lines).toEqual([])
})
