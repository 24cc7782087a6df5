import type { BackendConfig } from '../../backends/backend-config.ts'
import { type BackendPlan, planBackend } from '../../pipeline/backend-plan.ts'
import { shownUrl } from '../../pipeline/endpoint.ts'
import { createPipeline, type Pipeline, type PipelineSettings } from '../../pipeline/index.ts'
import { type ProbeOptions, type ProbeResult, probeProblem } from './probe-result.ts'
import { askFor, PROBE_SERVICE, sendMetric, sendSpan, statsOf } from './probe-steps.ts'

/** The command holds the process itself; this is how long a pipeline that closes may try again what it tried already. */
const CLOSE_MILLIS = 500

/** Sends a span, and a metric where metrics are taken, the way an agent's would go, and asks for the span again. Never rejects. */
export async function probe(
  backend: BackendConfig,
  settings: PipelineSettings,
  options: ProbeOptions,
): Promise<ProbeResult> {
  const planned = planBackend(backend)
  if (!planned.ok) return { ...untried(backend), problems: [probeProblem(planned.problem)] }
  const { plan } = planned
  const place = placeOf(plan)
  const named = { ...untried(backend), ...(place === undefined ? {} : { url: place }) }
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
  const url = urls.traces ?? urls.metrics
  return url === undefined ? undefined : shownUrl(url)
}

/** As configured, for one backend and for one span: whatever the configuration samples away or keeps to itself. */
function probing(backend: BackendConfig, settings: PipelineSettings): PipelineSettings {
  const { localLog: _log, prometheus: _endpoint, ...rest } = settings
  const { resourceAttributes, globalTags } = settings
  return {
    ...rest,
    backends: [backend],
    serviceName: PROBE_SERVICE,
    resourceAttributes: withoutService(resourceAttributes),
    globalTags: withoutService(globalTags),
    sampler: { type: 'always_on' },
    deterministicIds: false,
    flushWaitMillis: CLOSE_MILLIS,
  }
}

/** They would win over the name of the probe. */
function withoutService(attributes: Readonly<Record<string, string>>): Record<string, string> {
  const { 'service.name': _name, 'service.namespace': _namespace, ...rest } = attributes
  return rest
}

type Tried = Pick<ProbeResult, 'delivered' | 'metrics' | 'readBack' | 'readBackUrl' | 'millis'>

async function tryBoth(
  pipeline: Pipeline,
  plan: BackendPlan,
  projectName: string | undefined,
  waitMillis: number,
): Promise<Tried> {
  const span = plan.traces ? await sendSpan(pipeline) : undefined
  const delivered = span === undefined ? null : statsOf(pipeline).delivered > 0
  const millis = span?.millis ?? null
  // The same cause would be told twice.
  if (span !== undefined && !delivered) return { delivered, metrics: null, readBack: null, millis }
  const [asked, metrics] = await Promise.all([
    span && askFor(plan, span.traceId, projectName, waitMillis),
    plan.metrics ? sendMetric(pipeline) : null,
  ])
  if (asked === undefined) return { delivered, metrics, readBack: null, millis }
  const { outcome, url, afterMillis } = asked
  const isFound = outcome.kind === 'found'
  const tookMillis = (millis ?? 0) + (isFound ? afterMillis : 0)
  return { delivered, metrics, readBack: outcome, readBackUrl: url, millis: tookMillis }
}

/** What keeps nothing from arriving is no more than a warning. */
function judged(
  lines: readonly string[],
  expected: readonly string[],
  { delivered, metrics }: Tried,
  name: string,
): Pick<ProbeResult, 'problems' | 'warnings'> {
  const isLost = delivered === false || metrics === false
  if (!isLost) return { problems: [], warnings: lines.map(probeProblem) }
  const causes = lines.filter(line => !expected.includes(line))
  const problems = causes.length > 0 ? causes : [`backend ${name}: the probe did not arrive. Try again`]
  return { problems: problems.map(probeProblem), warnings: expected.map(probeProblem) }
}
