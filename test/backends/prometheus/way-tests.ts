import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MetricKey } from '../../../src/contract/semconv/index.ts'
import { INSTRUMENTS } from '../../../src/tracker/instrument-table.ts'
import { KEYS, ofInstrument, type Path } from '../../observability/prometheus-names.ts'
import { OtlpSink } from '../../support/otlp-sink.ts'
import type { PrometheusServer, Sample } from '../servers/prometheus.ts'
import type { Totals } from '../workload/feed.ts'
import { expectSeries } from './expect-series.ts'
import { feedInSlices, HOST, type Sliced } from './feed-in-slices.ts'
import { filledIn, panelQueries, serviceVariable } from './panels.ts'
import { until } from './until.ts'
import { type OpenWay, openWay, type Way } from './ways.ts'

const SLICES = 3
/** The dashboard, opened for the last quarter of an hour. */
const RANGE_SECONDS = 900
const STEP_SECONDS = 5

/** What came with the last slice has been scraped once: an increase of it, be it none, needs two samples. */
async function seenTwice(prometheus: PrometheusServer): Promise<void> {
  await until(
    () => prometheus.query('min(count_over_time(hermes_sessions_total[15m]))'),
    samples => (Number(samples[0]?.value[1]) >= 2 ? undefined : samples),
    'scrapes of every series',
  )
}

/** A scrape that a busy machine answers too late leaves every series without a value until the next one. */
async function foundBy(prometheus: PrometheusServer, expression: string): Promise<readonly Sample[]> {
  const noneOf = (samples: readonly Sample[]): unknown => (samples.length > 0 ? undefined : samples)
  return await until(() => prometheus.query(expression), noneOf, expression)
}

/** By where their data comes from: nothing of the workload. */
export function testWay(way: Way): void {
  describe(`metrics that are ${way}`, () => {
    let home = ''
    let sink: OtlpSink
    let open: OpenWay
    let fed: Sliced

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), `hookspan-${way}-`))
      sink = await OtlpSink.start()
      // Takes the spans, so that there are delivery figures as well.
      open = await openWay(way, { backends: [{ type: 'otlp', name: 'traces', endpoint: sink.url, metrics: false }] })
      fed = await feedInSlices(open.prometheus, open.config, { home, slices: SLICES })
      if (way === 'scraped') await seenTwice(open.prometheus)
    })

    afterAll(async () => {
      await fed?.plugin.shutdown()
      await open?.stop()
      await sink?.stop()
      rmSync(home, { recursive: true, force: true })
    })

    test('has every instrument by its documented name', async () => {
      const names = await open.prometheus.get<readonly string[]>('label/__name__/values')
      const wanted = KEYS.flatMap(key => ofInstrument(key, open.path)).map(({ name }) => name)
      expect(wanted.filter(name => !names.includes(name))).toEqual([])
    })

    test('has every fed value as a series, and no other', () => expectSeries(open, fed))

    test('has the sums of the hook records, to the token and to the call', async () => {
      const { overall, byModel } = fed.totals
      const by = (label: string, name: string): Promise<object> => totalsBy(open.prometheus, label, name)
      expect(await by('', 'hookspan_hooks_total')).toEqual({ '': fed.records.length })
      for (const [name, value] of Object.entries(sumsOf(overall)))
        expect(await by('', name), name).toEqual({ '': value })
      expect(await by('outcome', 'hermes_tool_calls_total')).toEqual(overall.toolsByOutcome)
      expect(await by('choice', 'hermes_approval_count_total')).toEqual(overall.approvalsByChoice)
      expect(await by('model', 'hermes_tokens_input_total')).toEqual(tokensByModel(byModel, 'input'))
      expect(await by('model', 'hermes_tokens_output_total')).toEqual(tokensByModel(byModel, 'output'))
      expect(await by('gen_ai_token_type', 'gen_ai_client_token_usage_sum')).toEqual({
        input: overall.tokens.input,
        output: overall.tokens.output,
      })
    })

    test('has a last bucket for everything in a histogram', async () => {
      const all = await foundBy(open.prometheus, '{__name__=~"(hermes|gen_ai)_.+_bucket", le="+Inf"}')
      const counts = await foundBy(open.prometheus, '{__name__=~"(hermes|gen_ai)_.+_count"}')
      expect(all.map(withoutPart).toSorted()).toEqual(counts.filter(isOfHistogram).map(withoutPart).toSorted())
    })

    // Prometheus keeps it for targets that it scrapes, not for what is pushed.
    if (way !== 'pushed')
      test('has type and help of every instrument', async () => {
        const metadata = await open.prometheus.get<Record<string, { type: string; help: string }[]>>('metadata')
        const told = KEYS.map(key => {
          const [first] = ofInstrument(key, open.path)
          const family = (first?.name ?? '').replace(/_bucket$/, '')
          const found = metadata[family] ?? metadata[family.replace(/_total$/, '')]
          return { key, type: found?.[0]?.type, help: found?.[0]?.help }
        })
        const wanted = KEYS.map(key => {
          const { kind, description } = INSTRUMENTS[key]
          return { key, type: kind === 'up_down_counter' ? 'gauge' : kind, help: description }
        })
        expect(told).toEqual(wanted)
      })

    test('has the services that the dashboard finds', async () => {
      const { metric, label } = serviceVariable()
      const values = await open.prometheus.get<string[]>(`label/${label}/values`, { 'match[]': metric })
      expect(values).toEqual([open.job(HOST)])
    })

    test.each(panelQueries())('has data for the panel $row: $title ($expr)', async ({ expr, instant }) => {
      const query = filledIn(expr, RANGE_SECONDS)
      const end = Math.ceil(Date.now() / 1000)
      const values = instant
        ? (await foundBy(open.prometheus, query)).map(({ value }) => value[1])
        : (await open.prometheus.queryRange(query, { start: end - 120, end, step: STEP_SECONDS })).flatMap(line =>
            line.values.map(([, text]) => text),
          )
      expect(values.filter(text => Number.isFinite(Number(text)))).not.toEqual([])
    })
  })
}

const SUMS: Readonly<Record<string, (sums: Totals['overall']) => number>> = {
  hermes_tokens_input_total: ({ tokens }) => tokens.input,
  hermes_tokens_output_total: ({ tokens }) => tokens.output,
  hermes_tokens_cache_read_total: ({ tokens }) => tokens.cacheRead,
  hermes_tokens_cache_write_total: ({ tokens }) => tokens.cacheWrite,
  hermes_tokens_reasoning_total: ({ tokens }) => tokens.reasoning,
  // Side calls are requests, too.
  hermes_api_error_count_total: ({ failedAttempts, failedSideCalls }) => failedAttempts + failedSideCalls,
  hermes_retry_count_total: ({ retries }) => retries,
  hermes_subagent_count_total: ({ childrenReturned }) => childrenReturned,
}

function sumsOf(overall: Totals['overall']): Record<string, number> {
  return Object.fromEntries(Object.entries(SUMS).map(([name, read]) => [name, read(overall)]))
}

/** Only what is not zero: a series begins with its first token. */
function tokensByModel(byModel: Totals['byModel'], which: 'input' | 'output'): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { model, tokens } of byModel.values()) {
    if (tokens[which] > 0) sums[model] = (sums[model] ?? 0) + tokens[which]
  }
  return sums
}

async function totalsBy(prometheus: PrometheusServer, label: string, name: string): Promise<Record<string, number>> {
  const samples = await foundBy(prometheus, `sum by (${label}) (${name})`)
  return Object.fromEntries(samples.map(({ metric, value }) => [metric[label] ?? '', Number(value[1])]))
}

function isOfHistogram({ metric }: Sample): boolean {
  const name = metric['__name__'] ?? ''
  return KEYS.some(key => INSTRUMENTS[key].kind === 'histogram' && PATHS.some(path => names(key, path).includes(name)))
}

const PATHS: readonly Path[] = ['pull', 'push']
const names = (key: MetricKey, path: Path): string[] => ofInstrument(key, path).map(({ name }) => name)

/** The series without which part of its histogram it is, and its value. */
function withoutPart({ metric, value }: Sample): string {
  const { le: _le, __name__ = '', ...labels } = metric
  return JSON.stringify([__name__.replace(/_(bucket|count)$/, ''), Object.entries(labels).toSorted(), value[1]])
}
