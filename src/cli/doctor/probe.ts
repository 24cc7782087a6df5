import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'
import { hostname } from 'node:os'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { OPENINFERENCE } from '../../contract/semconv/index.ts'
import type { BackendConfig, StringMap } from '../../delivery/backends/backend-config.ts'
import { shownUrl } from '../../delivery/backends/http-url.ts'
import type { BackendPlan, ReadBackRequest } from '../../delivery/pipeline/backend-plan.ts'
import { planBackend, traceLinks } from '../../delivery/pipeline/backend-plan.ts'
import { HeadersCommand } from '../../delivery/pipeline/headers-command.ts'
import { createPipeline, type Pipeline, type PipelineSettings } from '../../delivery/pipeline/index.ts'
import { createAgent } from '../../delivery/pipeline/otlp-sender.ts'
import { untraced } from '../../delivery/pipeline/sdk.ts'
import { readTlsFiles } from '../../delivery/pipeline/tls-files.ts'
import { inTime } from '../../guards/in-time.ts'
import { PACKAGE_NAME, PACKAGE_VERSION } from '../../plugin/package-facts.ts'

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

/** Sends a span, and a metric if the backend accepts them, as an agent does, and reads the span back. Never rejects. */
export async function probe(
  backend: BackendConfig,
  settings: PipelineSettings,
  options: ProbeOptions,
): Promise<ProbeResult> {
  const planned = planBackend(backend)
  if (!planned.ok) return { ...untried(backend), problems: [probeProblem(planned.problem)] }
  const { plan } = planned
  const place = placeOf(plan)
  const named = { ...untried(backend), isSentLogs: plan.logs, ...(place !== undefined && { url: place }) }
  const warnings = planned.warnings.map(probeProblem)
  if (options.isOffline || plan.row.transport === 'console') return { ...named, warnings }
  const lines: string[] = []
  const say = (line: string): number => lines.push(line)
  const pipeline = createPipeline(probing(backend, settings), { warn: say, error: say, debug: () => undefined })
  try {
    const { projectName } = settings
    const tried = await tryBoth({ pipeline, plan, projectName, waitMillis: options.waitMillis })
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

/** The settings for one backend and one span, unfiltered, without attributes that override the service name of the probe. */
function probing(backend: BackendConfig, settings: PipelineSettings): PipelineSettings {
  const { localLog: _log, prometheus: _endpoint, ...rest } = settings
  const { 'service.name': _name, 'service.namespace': _namespace, ...resourceAttributes } = settings.resourceAttributes
  return {
    ...rest,
    backends: [backend],
    serviceName: PROBE_SERVICE,
    resourceAttributes,
    sampleRate: undefined,
    deterministicIds: false,
    flushWaitMillis: CLOSE_MILLIS,
  }
}

type ProbeOutcome = Pick<ProbeResult, 'delivered' | 'metrics' | 'readBack' | 'readBackUrl' | 'millis'>

interface ProbeRun {
  readonly pipeline: Pipeline
  readonly plan: BackendPlan
  readonly projectName: string | undefined
  readonly waitMillis: number
}

async function tryBoth(run: ProbeRun): Promise<ProbeOutcome> {
  const { pipeline, plan } = run
  const span = plan.traces ? await sendSpan(pipeline) : undefined
  const delivered = span === undefined ? null : statsOf(pipeline).delivered > 0
  const millis = span?.millis ?? null
  // Avoids reporting the same cause twice.
  if (span !== undefined && !delivered) return { delivered, metrics: null, readBack: null, millis }
  const [asked, metrics] = await Promise.all([
    span && readBackTrace(run, span.traceId),
    plan.metrics ? sendMetric(pipeline) : null,
  ])
  if (asked === undefined) return { delivered, metrics, readBack: null, millis }
  const { readBack, readBackUrl, afterMillis } = asked
  const tookMillis = (millis ?? 0) + (readBack.kind === 'found' ? afterMillis : 0)
  return { delivered, metrics, readBack, readBackUrl, millis: tookMillis }
}

/** Problems that do not prevent delivery are only warnings. */
function judged(lines: readonly string[], expected: readonly string[], outcome: ProbeOutcome, name: string) {
  const isLost = outcome.delivered === false || outcome.metrics === false
  if (!isLost) return { problems: [], warnings: lines.map(probeProblem) }
  const causes = lines.filter(line => !expected.includes(line))
  const problems = causes.length > 0 ? causes : [`backend ${name}: the probe did not arrive. Try again`]
  return { problems: problems.map(probeProblem), warnings: expected.map(probeProblem) }
}

/** A service name of its own, so that servers do not count probes with an agent's data. */
export const PROBE_SERVICE = 'hookspan-doctor'
export const PROBE_SPAN = 'hookspan.doctor'
const PROBE_METRIC = 'hookspan.doctor.probes'

async function sendSpan(pipeline: Pipeline): Promise<{ readonly traceId: string; readonly millis: number }> {
  const tracer = pipeline.tracerProvider.getTracer(PACKAGE_NAME, PACKAGE_VERSION)
  const [at, from] = [new Date().toISOString(), hostname()]
  // They describe the probe to a user who finds it on a server. Phoenix and other servers show `input.value` in lists.
  const attributes = {
    'hookspan.doctor.sent_at': at,
    'hookspan.doctor.sent_from': from,
    [OPENINFERENCE.input]: `A probe of hookspan doctor ${PACKAGE_VERSION}, sent from ${from} at ${at}; no agent's turn`,
  }
  const span = tracer.startSpan(PROBE_SPAN, { root: true, attributes })
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

/** Undefined if the backend has no API for that. */
async function readBackTrace(run: ProbeRun, traceId: string) {
  const { plan, projectName } = run
  const startedAt = performance.now()
  const elapsed = (): number => Math.round(performance.now() - startedAt)
  const { path } = plan.options
  if (plan.row.transport === 'file' && path !== undefined) {
    return { readBack: await readBackFile(path, traceId), readBackUrl: path, afterMillis: elapsed() }
  }
  const request = traceLinks(plan.settings, traceId, projectName).readBack
  if (request === undefined) return undefined
  const readBack = await pollTrace(run, request, traceId)
  return { readBack, readBackUrl: new URL(request.url).origin, afterMillis: elapsed() }
}

function statsOf(pipeline: Pipeline): { readonly delivered: number; readonly lastError?: string } {
  return pipeline.stats().backends[0] ?? { delivered: 0 }
}

const POLL_MILLIS = 250
/** The trace has one span, so a longer response is something else. */
const MAX_ANSWER_BYTES = 1_048_576

type ReadBackOutcome =
  | { readonly kind: 'found' }
  /** Not there, or not yet. `status` is that of the last response. */
  | { readonly kind: 'missing'; readonly status?: number }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unreachable'; readonly code: string }
  | { readonly kind: 'page' }

/** Polls until the server returns the trace, polling is useless, or the time is over. Never rejects. */
async function pollTrace({ plan, waitMillis }: ProbeRun, request: ReadBackRequest, traceId: string) {
  const { settings, row } = plan
  // The pipeline has already reported unusable files.
  const tls = readTlsFiles(settings, () => undefined)
  const agent = createAgent(request.url, tls)
  const deadlineAt = performance.now() + waitMillis
  try {
    const command = row.readBack?.authenticated ? settings.headers_command : undefined
    const asked = { ...request, headers: { ...request.headers, ...(await commandHeaders(command, waitMillis)) } }
    for (;;) {
      const left = deadlineAt - performance.now()
      const outcome = await ask(asked, traceId, agent, Math.max(left, POLL_MILLIS))
      if (outcome.kind !== 'missing' || performance.now() + POLL_MILLIS > deadlineAt) return outcome
      await pause(POLL_MILLIS)
    }
  } finally {
    agent.destroy()
  }
}

async function commandHeaders(command: readonly string[] | undefined, waitMillis: number): Promise<StringMap> {
  if (command === undefined) return {}
  // The program does not keep this process alive, but this timer does.
  const own = await inTime(new HeadersCommand(command).read(waitMillis, new AbortController().signal), waitMillis)
  return typeof own !== 'symbol' && own.ok ? own.headers : {}
}

function ask(request: ReadBackRequest, traceId: string, agent: ReturnType<typeof createAgent>, timeoutMillis: number) {
  const get = request.url.startsWith('https:') ? getHttps : getHttp
  return new Promise<ReadBackOutcome>(resolve => {
    const giveUp = setTimeout(() => settle({ kind: 'missing' }), timeoutMillis)
    const settle = (outcome: ReadBackOutcome): void => {
      clearTimeout(giveUp)
      made.destroy()
      resolve(outcome)
    }
    const made = untraced(() => get(request.url, { headers: request.headers, agent }))
    made.on('error', (error: NodeJS.ErrnoException) => settle({ kind: 'unreachable', code: error.code ?? 'unknown' }))
    made.on('response', response => {
      void bodyOf(response).then(body => settle(judge(response, body, request, traceId)))
    })
  })
}

function judge(response: IncomingMessage, body: string, { found }: ReadBackRequest, traceId: string): ReadBackOutcome {
  const { statusCode: status = 0, headers } = response
  if (status === 401 || status === 403) return { kind: 'refused', status }
  if (status !== 200) return { kind: 'missing', status }
  // The server of a user interface answers every path with 200.
  if (headers['content-type']?.startsWith('text/html')) return { kind: 'page' }
  return found === 'status' || body.includes(traceId) ? { kind: 'found' } : { kind: 'missing', status }
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  let body = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      body += chunk
      if (body.length > MAX_ANSWER_BYTES) break
    }
  } catch {
    // The status is enough.
  }
  return body
}

async function readBackFile(path: string, traceId: string): Promise<ReadBackOutcome> {
  const readEnd = async (): Promise<Buffer> => {
    const { size } = await stat(path)
    const [start, end] = [Math.max(0, size - MAX_ANSWER_BYTES), size - 1]
    return size === 0 ? Buffer.alloc(0) : buffer(createReadStream(path, { start, end }))
  }
  const last = await readEnd().catch(() => undefined)
  return last?.includes(traceId) ? { kind: 'found' } : { kind: 'missing' }
}
