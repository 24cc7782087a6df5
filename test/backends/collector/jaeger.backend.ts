import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { UserBackend } from '../../../src/plugin/config/types.ts'
import { OtlpSink } from '../../support/otlp-sink.ts'
import { JaegerQuery } from '../jaeger/query.ts'
import { until } from '../prometheus/until.ts'
import { type CollectorServer, startCollector } from '../servers/collector.ts'
import { type Jaeger, startJaeger } from '../servers/jaeger.ts'
import { feedWorkload, treeSpan, treeText } from '../workload/feed.ts'

let home = ''
let jaeger: Jaeger
let phoenix: OtlpSink
let collector: CollectorServer

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-collector-'))
  jaeger = await startJaeger()
  phoenix = await OtlpSink.start()
  collector = await startCollector({ jaeger: jaeger.otlpUrl, phoenix: phoenix.url })
})

afterAll(async () => {
  await collector?.stop()
  await Promise.all([jaeger?.stop(), phoenix?.stop()])
  rmSync(home, { recursive: true, force: true })
})

test('delivers the traces as drawn to a Jaeger behind the collector', async () => {
  const backend: UserBackend = { type: 'otlp', endpoint: collector.otlpUrl, metrics: false }
  const fed = await feedWorkload({ home, config: { backends: [backend] }, scenarios: ['recordings', 'pi'] })
  const query = new JaegerQuery(jaeger.url)
  const traceIds = [...new Set(fed.spans.map(({ traceId }) => traceId))]
  const stored = await until(
    async () => (await Promise.all(traceIds.map(traceId => query.trace(traceId, { raw: true })))).flat(),
    spans => (spans.length === fed.spans.length ? undefined : { fed: fed.spans.length, stored: spans.length }),
    'spans in Jaeger',
  )
  expect(treeText(stored.map(treeSpan))).toBe(treeText(fed.spans.map(treeSpan)))
})
