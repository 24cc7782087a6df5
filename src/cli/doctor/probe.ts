import { hostname } from 'node:os'
import { OPENINFERENCE } from '../../contract/semconv/index.ts'
import type { BackendConfig } from '../../delivery/backends/backend-config.ts'
import { shownUrl } from '../../delivery/backends/http-url.ts'
import { type BackendPlan, planBackend, traceLinks } from '../../delivery/pipeline/backend-plan.ts'
import { createPipeline, type Pipeline, type PipelineSettings } from '../../delivery/pipeline/index.ts'
import { readTlsFiles } from '../../delivery/pipeline/tls-files.ts'
import { PACKAGE_NAME, PACKAGE_VERSION } from '../../plugin/package-facts.ts'
import { type ReadBackOutcome, readBack, readBackFile } from './read-back.ts'

/** The result of the probe of one backend. Null: not tried. */
export interface ProbeResult {
  readonly name: string
  readonly type: string
  readonly url?: string
  readonly isSentLogs?: boolean
  readonly delivered: boolean | null
  readonly metrics: boolean | null
  readonly readBack: ReadBackOutcome | null
  readonly readBackUrl?: string
  /** Time until the probe was read back; if it was not, until it was delivered. */
  readonly millis: number | null
  readonly problems: readonly ProbeProblem[]
  readonly warnings: readonly ProbeProblem[]
}

export interface ProbeOptions {
  readonly waitMillis: number
  readonly isOffline: boolean
}

interface ProbeProblem {
  readonly line: string
  readonly what: string
  readonly remedy?: string
}

/** The part of a message about spans of the meantime. Wrong for a probe, which no trace log keeps. */
const MEANWHILE = /;[^;.(]*\b(?:is|are) (?:dropped|kept)\b[^.(]*?(?=\s*\(|\.\s|$)/g

/** A remedy starts a sentence or follows a semicolon. */
const ADVICE = /\. (?=[A-Z])|; (?=correct |look for |its own log )/

/** Adapts a diagnostic to spans that are neither kept nor dropped. */
export function withoutMeanwhile(said: string): string {
  return said.replace(MEANWHILE, '')
}

export function probeProblem(said: string): ProbeProblem {
  const line = withoutMeanwhile(said)
  const at = ADVICE.exec(line)
  const what = (at === null ? line : line.slice(0, at.index)).replace(/^backend /, '')
  return { line, what, ...(at === null ? {} : { remedy: line.slice(at.index + 2) }) }
}

/** The retry time of a closing pipeline. It can be short, because the command itself waits for the probe. */
const CLOSE_MILLIS = 500

/**
 * Sends a span, and a metric if the backend accepts them, over the path of an agent, and reads the span back. Never rejects.
 */
export async function probe(
  backend: BackendConfig,
  settings: PipelineSettings,
  options: ProbeOptions,
): Promise<ProbeResult> {
  const planned = planBackend(backend)
  if (!planned.ok) return { ...untried(backend), problems: [probeProblem(planned.problem)] }
  const { plan } = planned
  const place = placeOf(plan)
  const named = { ...untried(backend), isSentLogs: plan.logs, ...(place === undefined ? {} : { url: place }) }
  const warnings = planned.warnings.map(probeProblem)
  if (options.isOffline || plan.row.transport === 'console') return { ...named, warnings }
  const lines: string[] = []
  const say = (line: string): number => lines.push(line)
  const pipeline = createPipeline(probing(backend, settings), { warn: say, error: say, debug: () => undefined })
  try {
    const tried = await tryBoth(pipeline, plan, settings.projectName, options.waitMillis)
    return { ...named, ...tried, ...judged(lines, planned.warnings, tried, backend.name) }
  } finally {
    await pipeline.shutdown()
  }
}

function untried({ name, type }: BackendConfig): ProbeResult {
  return { name, type, delivered: null, metrics: null, readBack: null, millis: null, problems: [], warnings: [] }
}

function placeOf({ row, urls, options }: BackendPlan): string | undefined {
  if (row.transport === 'file') return options['path']
  const url = urls.traces ?? urls.metrics ?? urls.logs
  return url === undefined ? undefined : shownUrl(url)
}

/** The configured settings for one backend and one span, without sampling and other filters. */
function probing(backend: BackendConfig, settings: PipelineSettings): PipelineSettings {
  const { localLog: _log, prometheus: _endpoint, ...rest } = settings
  const { resourceAttributes } = settings
  return {
    ...rest,
    backends: [backend],
    serviceName: PROBE_SERVICE,
    resourceAttributes: withoutService(resourceAttributes),
    sampleRate: undefined,
    deterministicIds: false,
    flushWaitMillis: CLOSE_MILLIS,
  }
}

/** These attributes would override the service name of the probe. */
function withoutService(attributes: Readonly<Record<string, string>>): Record<string, string> {
  const { 'service.name': _name, 'service.namespace': _namespace, ...rest } = attributes
  return rest
}

type ProbeOutcome = Pick<ProbeResult, 'delivered' | 'metrics' | 'readBack' | 'readBackUrl' | 'millis'>

async function tryBoth(
  pipeline: Pipeline,
  plan: BackendPlan,
  projectName: string | undefined,
  waitMillis: number,
): Promise<ProbeOutcome> {
  const span = plan.traces ? await sendSpan(pipeline) : undefined
  const delivered = span === undefined ? null : statsOf(pipeline).delivered > 0
  const millis = span?.millis ?? null
  // Avoids reporting the same cause twice.
  if (span !== undefined && !delivered) return { delivered, metrics: null, readBack: null, millis }
  const [asked, metrics] = await Promise.all([
    span && readBackTrace(plan, span.traceId, projectName, waitMillis),
    plan.metrics ? sendMetric(pipeline) : null,
  ])
  if (asked === undefined) return { delivered, metrics, readBack: null, millis }
  const { outcome, url, afterMillis } = asked
  const isFound = outcome.kind === 'found'
  const tookMillis = (millis ?? 0) + (isFound ? afterMillis : 0)
  return { delivered, metrics, readBack: outcome, readBackUrl: url, millis: tookMillis }
}

/** Problems that do not prevent delivery are only warnings. */
function judged(
  lines: readonly string[],
  expected: readonly string[],
  { delivered, metrics }: ProbeOutcome,
  name: string,
): Pick<ProbeResult, 'problems' | 'warnings'> {
  const isLost = delivered === false || metrics === false
  if (!isLost) return { problems: [], warnings: lines.map(probeProblem) }
  const causes = lines.filter(line => !expected.includes(line))
  const problems = causes.length > 0 ? causes : [`backend ${name}: the probe did not arrive. Try again`]
  return { problems: problems.map(probeProblem), warnings: expected.map(probeProblem) }
}

/** A service name of its own, so that servers do not count probes with an agent's data. */
export const PROBE_SERVICE = 'hookspan-doctor'
export const PROBE_SPAN = 'hookspan.doctor'
const PROBE_METRIC = 'hookspan.doctor.probes'

/** Describes the probe to a user who finds it on a server. */
function probeAttributes(): Record<string, string> {
  const [at, from] = [new Date().toISOString(), hostname()]
  return {
    'hookspan.doctor.sent_at': at,
    'hookspan.doctor.sent_from': from,
    // Phoenix and other servers show this attribute in lists.
    [OPENINFERENCE.inputValue]: `A probe of hookspan doctor ${PACKAGE_VERSION}, sent from ${from} at ${at}; no agent's turn`,
  }
}

async function sendSpan(pipeline: Pipeline): Promise<{ readonly traceId: string; readonly millis: number }> {
  const tracer = pipeline.tracerProvider.getTracer(PACKAGE_NAME, PACKAGE_VERSION)
  const span = tracer.startSpan(PROBE_SPAN, { root: true, attributes: probeAttributes() })
  const startedAt = performance.now()
  span.end()
  await pipeline.flush()
  return { traceId: span.spanContext().traceId, millis: Math.round(performance.now() - startedAt) }
}

async function sendMetric(pipeline: Pipeline): Promise<boolean> {
  const meter = pipeline.meterProvider.getMeter(PACKAGE_NAME, PACKAGE_VERSION)
  meter.createCounter(PROBE_METRIC, { description: 'Probes that hookspan doctor has sent' }).add(1)
  await pipeline.flush()
  return statsOf(pipeline).lastError === undefined
}

interface ReadBackReply {
  readonly outcome: ReadBackOutcome
  readonly url: string
  readonly afterMillis: number
}

async function readBackTrace(
  plan: BackendPlan,
  traceId: string,
  projectName: string | undefined,
  waitMillis: number,
): Promise<ReadBackReply | undefined> {
  const startedAt = performance.now()
  const asked = (outcome: ReadBackOutcome, url: string): ReadBackReply => ({
    outcome,
    url,
    afterMillis: Math.round(performance.now() - startedAt),
  })
  const { path } = plan.options
  if (plan.row.transport === 'file' && path !== undefined) return asked(await readBackFile(path, traceId), path)
  const request = traceLinks(plan.settings, traceId, projectName).readBack
  if (request === undefined) return undefined
  // The pipeline has already reported unusable files.
  const tls = readTlsFiles(plan.settings, () => undefined)
  const headersCommand = plan.row.readBack?.authenticated ? plan.settings.headers_command : undefined
  return asked(await readBack({ request, traceId, tls, headersCommand }, waitMillis), new URL(request.url).origin)
}

function statsOf(pipeline: Pipeline): { readonly delivered: number; readonly lastError?: string } {
  return pipeline.stats().backends[0] ?? { delivered: 0 }
}
