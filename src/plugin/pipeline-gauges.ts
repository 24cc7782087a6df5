import { LABEL, type MetricKey } from '../contract/semconv/index.ts'
import type { Pipeline } from '../delivery/pipeline/index.ts'
import type { Gauge } from '../tracker/instruments.ts'

export function gaugesOf(pipeline: Pipeline | undefined): Partial<Record<MetricKey, Gauge>> {
  return { exportSpans: exportGauge(pipeline), spoolBytes: spoolGauge(pipeline) }
}

function exportGauge(pipeline: Pipeline | undefined): Gauge {
  return result => {
    for (const { name, delivered, recovered, retried, spooledEver, dropped } of pipeline?.stats().backends ?? []) {
      const became = { delivered: delivered + recovered, retried, spooled: spooledEver, dropped }
      for (const [what, spans] of Object.entries(became)) {
        result.observe(spans, { [LABEL.backend]: name, [LABEL.result]: what })
      }
    }
  }
}

function spoolGauge(pipeline: Pipeline | undefined): Gauge {
  return result => {
    for (const { name, isKept, spoolBytes } of pipeline?.stats().backends ?? []) {
      if (isKept) result.observe(spoolBytes, { [LABEL.backend]: name })
    }
  }
}
