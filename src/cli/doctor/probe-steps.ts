import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Attributes } from '@opentelemetry/api'
import { traceLinks } from '../../pipeline/backend-links.ts'
import type { BackendPlan } from '../../pipeline/backend-plan.ts'
import type { Pipeline } from '../../pipeline/index.ts'
import { OPENINFERENCE } from '../../semconv/index.ts'
import { PACKAGE_NAME, PACKAGE_VERSION } from '../../wiring/package-facts.ts'
import { type ReadBackOutcome, readBack, readBackFile } from './read-back.ts'

/** Not that of an agent: in the lists of servers it stands beside agents, and is counted with none of them. */
export const PROBE_SERVICE = 'hookspan-doctor'
export const PROBE_SPAN = 'hookspan.doctor'
const PROBE_METRIC = 'hookspan.doctor.probes'

/** What tells a person who comes upon it what it is. */
function probeAttributes(): Attributes {
  const [at, from] = [new Date().toISOString(), hostname()]
  return {
    'hookspan.doctor.sent_at': at,
    'hookspan.doctor.sent_from': from,
    // Phoenix and others list it.
    [OPENINFERENCE.inputValue]: `A probe of hookspan doctor ${PACKAGE_VERSION}, sent from ${from} at ${at}; no agent's turn`,
  }
}

/** Resolves when it has arrived or failed. */
export async function sendSpan(pipeline: Pipeline): Promise<{ readonly traceId: string; readonly millis: number }> {
  const tracer = pipeline.tracerProvider.getTracer(PACKAGE_NAME, PACKAGE_VERSION)
  const span = tracer.startSpan(PROBE_SPAN, { root: true, attributes: probeAttributes() })
  const startedAt = performance.now()
  span.end()
  await pipeline.flush()
  return { traceId: span.spanContext().traceId, millis: Math.round(performance.now() - startedAt) }
}

/** Whether it was taken. */
export async function sendMetric(pipeline: Pipeline): Promise<boolean> {
  const meter = pipeline.meterProvider.getMeter(PACKAGE_NAME, PACKAGE_VERSION)
  meter.createCounter(PROBE_METRIC, { description: 'Probes that hookspan doctor has sent' }).add(1)
  await pipeline.flush()
  return statsOf(pipeline).lastError === undefined
}

export interface Asked {
  readonly outcome: ReadBackOutcome
  readonly url: string
  readonly afterMillis: number
}

/** Asks the backend for the trace; undefined where it has no API for that. */
export async function askFor(
  plan: BackendPlan,
  traceId: string,
  projectName: string | undefined,
  waitMillis: number,
): Promise<Asked | undefined> {
  const startedAt = performance.now()
  const asked = (outcome: ReadBackOutcome, url: string): Asked => ({
    outcome,
    url,
    afterMillis: Math.round(performance.now() - startedAt),
  })
  const { path } = plan.options
  if (plan.row.transport === 'file' && path !== undefined) return asked(await readBackFile(path, traceId), path)
  const request = traceLinks(plan.settings, traceId, projectName).readBack
  if (request === undefined) return undefined
  const certificate = await readCertificate(plan.settings.certificate)
  return asked(await readBack({ request, traceId, certificate }, waitMillis), new URL(request.url).origin)
}

/** That it cannot be read, the pipeline has said. */
async function readCertificate(path: string | undefined): Promise<Buffer | undefined> {
  return path === undefined ? undefined : readFile(path).catch(() => undefined)
}

/** Of the one backend that the pipeline has. */
export function statsOf(pipeline: Pipeline): { readonly delivered: number; readonly lastError?: string } {
  return pipeline.stats().backends[0] ?? { delivered: 0 }
}
