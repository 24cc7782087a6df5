import { expect, test } from 'vitest'
import { resolveConfig } from '../../src/config/resolve.ts'
import type { BackendStats } from '../../src/pipeline/index.ts'
import { createMemoryPipeline, type MetricSample } from '../../src/pipeline/memory.ts'
import { assemble } from '../../src/wiring/create-plugin.ts'
import { createDiagnostics } from '../../src/wiring/diagnostics.ts'
import { outletsOf } from '../../src/wiring/outlets.ts'
import { pipelineSettings } from '../../src/wiring/settings.ts'

const JAEGER: BackendStats = {
  name: 'jaeger',
  type: 'jaeger',
  delivered: 40,
  recovered: 2,
  retried: 5,
  spooled: 6,
  spooledEver: 7,
  dropped: 3,
  queued: 1,
  isKept: true,
  spoolBytes: 99,
}

/** A plugin whose pipeline says this of its backends, and whose memory of the metrics can be looked into. */
function pluginWith(backends: readonly BackendStats[]) {
  const { config } = resolveConfig({ env: {}, home: '/nonexistent' })
  const memory = createMemoryPipeline(pipelineSettings({ ...config, local_log: false }, {}, '/nonexistent'))
  let onCrashed: (spans: number) => void = () => undefined
  const pipeline = {
    ...memory,
    stats: () => ({ backends, traceFiles: [] }),
    recover: (listener: (spans: number) => void) => {
      onCrashed = listener
    },
  }
  const surroundings = { env: {}, home: '/nonexistent', isReplay: false }
  const plugin = assemble('agent', config, outletsOf(pipeline), surroundings, createDiagnostics(undefined))
  return { plugin, crashed: (spans: number) => onCrashed(spans), samples: () => memory.samples() }
}

function valuesOf(samples: readonly MetricSample[], name: string, label: string): Record<string, number> {
  const rows = samples.filter(sample => sample.name === name)
  return Object.fromEntries(rows.map(({ labels, value }) => [labels[label], value]))
}

test('what became of the spans of a backend, and what it has still to get', async () => {
  const { plugin, samples } = pluginWith([JAEGER, { ...JAEGER, name: 'local_log', isKept: false, spoolBytes: 0 }])
  const metrics = await samples()
  const ofJaeger = metrics.filter(({ labels }) => labels['backend'] === 'jaeger')
  expect(valuesOf(ofJaeger, 'hookspan.export.spans', 'result')).toEqual({
    delivered: 42,
    retried: 5,
    spooled: 7,
    dropped: 3,
  })
  expect(valuesOf(metrics, 'hookspan.spool.bytes', 'backend')).toEqual({ jaeger: 99 })
  await plugin.shutdown()
})

test('spans that were open in a process that was killed are counted', async () => {
  const { plugin, crashed, samples } = pluginWith([])
  crashed(3)
  crashed(1)
  expect(valuesOf(await samples(), 'hookspan.spans.incomplete', 'reason')).toEqual({ crashed: 4 })
  await plugin.shutdown()
})
