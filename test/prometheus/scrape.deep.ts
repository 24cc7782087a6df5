import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { METRIC, type MetricKey, resolveNamespace } from '../../src/contract/semconv/index.ts'
import type { Plugin } from '../../src/index.ts'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { INSTRUMENTS } from '../../src/tracker/instrument-table.ts'
import { text, yaml } from '../observability/stack-files.ts'
import { findProgram, freePort, majorVersion, PrometheusServer, promtool, type Sample } from './tools.ts'
import { type ExpectedSeries, FED, feedAll, PRICES, seriesOf } from './workload.ts'

const PROMTOOL = findProgram('promtool')
const PROMETHEUS = findProgram('prometheus')
const isMissing = PROMTOOL === undefined || PROMETHEUS === undefined
const isRequired = process.env['HOOKSPAN_REQUIRE_PROMETHEUS'] === '1'
/** It scrapes every second; this tells a Prometheus that never gets there from a slow machine. */
const DEADLINE_MILLIS = 60_000

if (isMissing && !isRequired) {
  console.warn(
    'test/prometheus is left out: there is no promtool and prometheus on PATH (Debian: apt-get install prometheus)',
  )
}

const KEYS = Object.keys(INSTRUMENTS) as MetricKey[]

function keyOf(name: string): MetricKey | undefined {
  return KEYS.find(key => resolveNamespace(METRIC[key], 'hermes') === name)
}

/** What the same records come to in memory. */
async function expectedSeries(): Promise<ExpectedSeries[]> {
  const plugin = createTestPlugin({ host: 'demo', prices: PRICES, keep: true })
  feedAll(plugin)
  const exported = { name: 'hookspan.export.spans', labels: { backend: 'file' } }
  const samples = [
    ...(await plugin.metrics()),
    { ...exported, labels: { ...exported.labels, result: 'delivered' }, value: plugin.spans().length },
    { ...exported, labels: { ...exported.labels, result: 'dropped' }, value: 0 },
  ]
  return samples.flatMap(sample => seriesOf(sample, INSTRUMENTS[keyOf(sample.name) ?? 'hooks'].kind === 'counter'))
}

function isSample({ name, labels }: ExpectedSeries, { metric }: Sample): boolean {
  // A label that is absent is as good as an empty one, so all labels of ours are compared.
  const {
    __name__,
    job: _job,
    instance: _instance,
    otel_scope_name: _scope,
    otel_scope_version: _version,
    otel_scope_schema_url: _schema,
    ...own
  } = metric
  const isEqual = Object.keys(own).length === Object.keys(labels).length
  return __name__ === name && isEqual && Object.entries(labels).every(([key, value]) => own[key] === value)
}

test("records every instrument by the workload, except the spool's", async () => {
  const names = new Set((await expectedSeries()).map(({ name }) => name.replace(/_(total|sum|count)$/, '')))
  const unfed = KEYS.filter(key => !names.has(resolveNamespace(METRIC[key], 'hermes').replaceAll('.', '_')))
  expect(unfed).toEqual(['spoolBytes'])
})

describe.skipIf(isMissing && !isRequired)('a real Prometheus', () => {
  let directory = ''
  let port = 0
  let plugin: Plugin

  beforeAll(async () => {
    if (isMissing) throw new Error('HOOKSPAN_REQUIRE_PROMETHEUS=1, but promtool and prometheus are not on PATH')
    directory = mkdtempSync(join(tmpdir(), 'hookspan-prometheus-'))
    port = await freePort()
    const file = { type: 'file', path: join(directory, 'spans.jsonl') } as const
    const prometheus = { host: '127.0.0.1', port }
    const options = {
      host: 'demo',
      local_log: false,
      backends: [file],
      prices: PRICES,
      keep: { hold: false },
      prometheus,
    }
    // The records' own time counts, as in the expected values; nothing of this machine is configured.
    plugin = createPluginIn(options, { env: {}, home: directory, isReplay: true })
    feedAll(plugin)
    await plugin.flush()
  })

  afterAll(async () => {
    await plugin?.shutdown()
    rmSync(directory, { recursive: true, force: true })
  })

  test('accepts the response in promtool, without a complaint', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`)
    expect(response.status).toBe(200)
    const metrics = await response.text()
    expect(metrics).toContain('hermes_tokens_input_total{')
    expect(await promtool(PROMTOOL ?? '', ['check', 'metrics'], metrics)).toEqual({ code: 0, output: '' })
  })

  test(
    'scrapes it, and has every instrument with the values that were fed',
    async () => {
      const data = join(directory, 'data')
      mkdirSync(data)
      const config = join(directory, 'prometheus.yml')
      const target = { job_name: 'hookspan', static_configs: [{ targets: [`127.0.0.1:${port}`] }] }
      writeFileSync(
        config,
        stringify({ global: { scrape_interval: '1s', scrape_timeout: '1s' }, scrape_configs: [target] }),
      )
      const expected = await expectedSeries()
      const server = new PrometheusServer(PROMETHEUS ?? '', config, data, await freePort())
      try {
        let samples: readonly Sample[] = []
        for (const deadlineAt = Date.now() + DEADLINE_MILLIS; Date.now() < deadlineAt; await pause(200)) {
          samples = await server.query('{job="hookspan"}')
          if (expected.every(series => samples.some(sample => isSample(series, sample)))) break
        }
        for (const series of expected) {
          const found = samples.filter(sample => isSample(series, sample))
          expect(found, `${JSON.stringify(series)}\n${server.log}`).toHaveLength(1)
          expect(Number(found[0]?.value[1]), JSON.stringify(series)).toBeCloseTo(series.value, 6)
        }
        // Of the same answer: a scrape that takes too long makes the next one empty.
        for (const [name, value] of Object.entries(FED)) {
          const fed = samples.filter(({ metric }) => metric['__name__'] === name)
          expect(
            fed.reduce((sum, sample) => sum + Number(sample.value[1]), 0),
            name,
          ).toBe(value)
        }
      } finally {
        await server.stop()
      }
    },
    DEADLINE_MILLIS + 20_000,
  )

  test('accepts our alerts as rules, with the results of their cases', async () => {
    const file = (name: string): string => fileURLToPath(new URL(`../../observability/${name}`, import.meta.url))
    const checked = await promtool(PROMTOOL ?? '', ['check', 'rules', file('rules.yml')])
    expect(checked).toEqual({ code: 0, output: expect.stringContaining('SUCCESS') })
    const tested = await promtool(PROMTOOL ?? '', ['test', 'rules', file('rules.test.yml')])
    expect(tested).toEqual({ code: 0, output: expect.stringContaining('SUCCESS') })
  })

  test('accepts our configuration', async () => {
    const { otlp, ...rest } = yaml<Record<string, unknown>>('observability/prometheus.yml')
    // In the container the rules lie elsewhere; and a version before the one of the compose file knows no OTLP.
    writeFileSync(join(directory, 'rules.yml'), text('observability/rules.yml'))
    const known = majorVersion(PROMTOOL ?? '') >= 3 ? { otlp } : {}
    const path = join(directory, 'checked.yml')
    writeFileSync(path, stringify({ ...rest, ...known, rule_files: ['rules.yml'] }))
    const checked = await promtool(PROMTOOL ?? '', ['check', 'config', path])
    expect(checked).toEqual({ code: 0, output: expect.stringMatching(/SUCCESS[\s\S]*SUCCESS/) })
  })
})
