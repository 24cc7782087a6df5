import { describe, expect, test } from 'vitest'
import type { ReceivedSpan } from '../../support/otlp-spans.mjs'
import { type Surroundings, spansAt } from './application.ts'
import type { Scene } from './scene.ts'

const TURN = ['api.qwen3', 'tool.fetch', 'llm.qwen3', 'agent']
const STEP = 100

interface Metric {
  readonly name: string
  readonly unit: string
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: readonly { readonly asDouble?: number }[] }
  readonly histogram?: { readonly dataPoints: readonly { readonly sum: number; readonly count: number | string }[] }
}

/** The plugin records through the providers of the application. */
export function testHandedIn(scene: Scene): void {
  describe('a host that passes its providers in', () => {
    test('gets our spans and points among its own, with the end of the session', async () => {
      const { folder, around } = scene
      const seen = await around.play(folder, { isHandedIn: true })
      expect(seen).toMatchObject({ lines: [], told: [], isActiveKept: true, stats: { backends: [] } })
      expect(around.visits.get('/suppressed-http')?.arrived).toEqual(expect.arrayContaining(TURN))
      expectTurn(around)
      expectPoints(around)
      expect(around.ours.flatMap(({ requests }) => requests)).toEqual([])
    })

    test('still has them when the plugin is shut down', async () => {
      const { folder, around } = scene
      await around.play(folder, { isHandedIn: true, modules: 'cjs' })
      const own = spansAt(around.host).filter(({ scope }) => scope === 'host')
      expect(own.map(({ name }) => name)).toEqual(['host tool', 'host work', 'host after'])
      expect(own.map(({ resource }) => resource['service.name'])).toEqual(['host', 'host', 'host'])
    })

    test('gets later spans once it has registered, if it does so late', async () => {
      const { folder, around } = scene
      await around.play(folder, { isHandedIn: true, order: 'plugin first' })
      expectTurn(around)
    })

    test('is not waited for longer than agreed, when its backend hangs', async () => {
      const { folder, around } = scene
      around.host.behaviour = { kind: 'hanging' }
      const env = { OTEL_EXPORTER_OTLP_TIMEOUT: '3000' }
      const seen = await around.play(folder, { isHandedIn: true, plugin: { force_flush_wait_ms: 100 }, env })
      expect(seen.lines).toEqual([])
      expect(around.host.spanNames).toEqual(expect.arrayContaining(TURN))
    })
  })
}

/** As if it were alone: no span of the host is its parent, though one was active all the while. */
function expectTurn({ host, startAt }: Surroundings): void {
  const [api, tool, llm, root] = spansAt(host).filter(({ scope }) => scope === 'hookspan') as [
    ReceivedSpan,
    ReceivedSpan,
    ReceivedSpan,
    ReceivedSpan,
  ]
  expect([api, tool, llm, root].map(({ name }) => name)).toEqual(TURN)
  expect(root.parentSpanId).toBeUndefined()
  expect([llm.parentSpanId, api.parentSpanId, tool.parentSpanId]).toEqual([root.spanId, llm.spanId, api.spanId])
  const turnAt = startAt + 10_000
  const times = ({ startTimeUnixNano, endTimeUnixNano }: ReceivedSpan): number[] =>
    [startTimeUnixNano, endTimeUnixNano].map(
      nanos => (Math.round(Number(BigInt(nanos) / 1000n) / 1000) - turnAt) / STEP,
    )
  expect([root, llm, api, tool].map(times)).toEqual([
    [0, 7],
    [1, 6],
    [2, 3],
    [4, 5],
  ])
  expect(api.attributes).toMatchObject({ 'gen_ai.usage.input_tokens': 11, 'gen_ai.usage.output_tokens': 7 })
  const ofHost = spansAt(host).filter(({ scope }) => scope !== 'hookspan')
  expect(ofHost.filter(({ traceId }) => traceId === root.traceId)).toEqual([])
}

function expectPoints({ host }: Surroundings): void {
  const last = metricsOf(host.requests.filter(({ path }) => path === '/v1/metrics').at(-1)?.json)
  const metric = (name: string): Metric | undefined => last.find(found => found.name === name)
  expect(metric('hermes.tokens.input')).toMatchObject({
    unit: '{token}',
    sum: { isMonotonic: true, dataPoints: [{ asDouble: 11 }] },
  })
  expect(metric('hermes.tool.calls')?.sum?.dataPoints).toMatchObject([{ asDouble: 1 }])
  expect(metric('hermes.turn.duration')).toMatchObject({ unit: 's' })
  expect(metric('hermes.turn.duration')?.histogram?.dataPoints).toMatchObject([{ sum: 0.7 }])
  expect(
    metric('gen_ai.client.token.usage')
      ?.histogram?.dataPoints.map(({ sum }) => sum)
      .sort(),
  ).toEqual([11, 7])
}

interface MetricsRequest {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly scope: { readonly name: string }; readonly metrics: readonly Metric[] }[]
  }[]
}

function metricsOf(request: unknown): Metric[] {
  const { resourceMetrics = [] } = (request ?? {}) as MetricsRequest
  const scopes = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics)
  return scopes.filter(({ scope }) => scope.name === 'hookspan').flatMap(({ metrics }) => metrics)
}
