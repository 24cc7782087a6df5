import { describe, expect, test } from 'vitest'
import { spansAt } from './application.ts'
import type { Scene } from './scene.ts'

const SECRET = 'secret-of-the-host'
const OUR_SECRET = 'secret-of-our-backend'
const PROMPT = 'look it up'

/** The application is configured by `OTEL_*` variables, which we read, too. */
export function testEnvironment(scene: Scene): void {
  describe('a host configured by variables', () => {
    test('keeps its headers: they reach no backend of ours', async () => {
      const { folder, around } = scene
      const env = {
        OTEL_EXPORTER_OTLP_ENDPOINT: around.host.url,
        OTEL_EXPORTER_OTLP_HEADERS: `authorization=${SECRET}`,
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: `x-traces=${SECRET}`,
        OTEL_EXPORTER_OTLP_METRICS_HEADERS: `x-metrics=${SECRET}`,
      }
      const seen = await around.play(folder, { env })
      expect(seen.isEnvironmentLeft).toBe(true)
      const toHost = around.host.requests.filter(({ path }) => path === '/v1/traces')
      expect(toHost.map(({ headers }) => [headers['authorization'], headers['x-traces']])).toEqual([[SECRET, SECRET]])
      expect(spansAt(around.host).filter(({ scope }) => scope === 'hookspan')).toEqual([])
      for (const { requests } of around.ours) {
        expect(requests.length).toBeGreaterThan(0)
        expect(requests.filter(({ headers }) => JSON.stringify(headers).includes(SECRET))).toEqual([])
      }
    })

    test.each([
      ['and so are we', {}, 0],
      ['but we are not, where our own configuration says so', { sample_rate: 1 }, 4],
    ])('is not sampled by OTEL_TRACES_SAMPLER, %s', async (_what, plugin, spans) => {
      const { folder, around } = scene
      const seen = await around.play(folder, { plugin, env: { OTEL_TRACES_SAMPLER: 'always_off' } })
      expect(seen.lines).toEqual([])
      expect(around.host.spanNames).toEqual([])
      expect(around.host.metricNames).not.toEqual([])
      for (const sink of around.ours) {
        expect(sink.spanNames).toHaveLength(spans)
        expect(sink.metricNames).toContain('hermes.tokens.input')
      }
    })

    test('passes neither content nor keys of ours to a logger of OpenTelemetry that accepts everything', async () => {
      const { folder, around } = scene
      const backends = around.ours.map(({ url }, index) => ({
        type: 'otlp' as const,
        name: `backend-${index}`,
        endpoint: url,
        protocol: index === 0 ? ('http/json' as const) : ('http/protobuf' as const),
        headers: { 'x-api-key': OUR_SECRET },
      }))
      const seen = await around.play(folder, { diagLevel: 'ALL', plugin: { backends, content_capture: 'full' } })
      expect(around.ours.map(({ requests }) => requests[0]?.headers['x-api-key'])).toEqual([OUR_SECRET, OUR_SECRET])
      expect(seen.told.length).toBeGreaterThan(0)
      expect(seen.told.filter(line => line.includes(OUR_SECRET) || line.includes(PROMPT))).toEqual([])
      expect(seen.told.filter(line => /^(warn|error)/.test(line))).toEqual([])
    })
  })
}
