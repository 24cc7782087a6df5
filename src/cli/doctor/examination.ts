import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { destinationOf, planBackend } from '../../delivery/pipeline/backend-plan.ts'
import type { BacklogEntry, Loss, UndecidedEntry } from '../../delivery/trace-log/index.ts'
import { hasKeptLog, readBacklog, readLosses, readUndecided } from '../../delivery/trace-log/index.ts'
import { stateHome } from '../../plugin/config/paths.ts'
import { resolveConfig } from '../../plugin/config/resolve.ts'
import { type ShownKey, showConfig } from '../../plugin/config/show.ts'
import type { Resolution, ResolvedConfig } from '../../plugin/config/types.ts'
import { NODE_RANGE } from '../../plugin/package-facts.ts'
import { pipelineSettings } from '../../plugin/settings.ts'
import type { CommandIo } from '../command.ts'
import type { AgentState, DoctorFinding } from './checks.ts'
import {
  checkAgents,
  checkBackends,
  checkBacklog,
  checkClocks,
  checkConfig,
  checkLosses,
  checkProxies,
  checkState,
  finding,
  LOSSES_SHOWN_MILLIS,
  readAgents,
} from './checks.ts'
import { type ProbeOptions, type ProbeResult, probe } from './probe.ts'

export interface Examination {
  readonly agents: readonly AgentState[]
  readonly config: Pick<Resolution, 'file' | 'problems'> & { readonly values: readonly ShownKey[] }
  readonly backends: readonly ProbeResult[]
  readonly backlog: readonly BacklogEntry[]
  readonly unjudged: readonly UndecidedEntry[]
  readonly losses: readonly Loss[]
  readonly findings: readonly DoctorFinding[]
}

/** Runs all checks and sends a probe to each backend. Never rejects because of a finding. */
export async function examine(options: ProbeOptions, named: readonly string[], io: CommandIo): Promise<Examination> {
  const { env, home } = io
  const configured = resolveConfig({ env, home })
  const resolution = named.length === 0 ? configured : resolveConfig({ code: { backends: named }, env, home })
  const { config, file, problems } = resolution
  const agents = await readAgents(io)
  const stateFindings = await checkState(config, io)
  const { results, skews } = await probeAll(config, options, io)
  const { backlog, unjudged, losses } = await readState(io)
  const context = {
    ...samplingOf(configured.config, io),
    configured: new Set(configured.config.backends.map(({ name }) => name)),
    failing: new Set(results.filter(({ delivered }) => delivered === false).map(({ name }) => name)),
    maxAgeHours: config.local_log_max_age_hours,
    now: io.now(),
  }
  const shown = showConfig(resolution).filter(({ source }) => !/^default\b/.test(source))
  // `--backend` is the only option of this command that sets a key.
  const values = shown.map(each => (each.source === 'code' ? { ...each, source: '--backend' } : each))
  return {
    agents,
    config: { file, values, problems },
    backends: results,
    backlog,
    unjudged,
    losses,
    findings: [
      checkNode(),
      ...checkAgents(agents, io.now()),
      ...checkConfig(resolution, io),
      ...stateFindings,
      ...checkBackends(results, options),
      ...checkClocks(skews),
      ...checkProxies(io.env, results),
      ...checkBacklog(backlog, unjudged, context),
      ...checkLosses(losses, io.now()),
    ],
  }
}

/** Posted by Node for every response that this process receives. The pipeline does not expose its responses. */
const RESPONSES = 'http.client.response.finish'
/** The `Date` header is truncated to whole seconds. */
const HALF_A_SECOND = 500

/** Probes in parallel, so that a hanging backend does not delay the others. */
async function probeAll(config: ResolvedConfig, options: ProbeOptions, { env, home }: CommandIo) {
  const settings = pipelineSettings(config, env, home)
  const skews = new Map<string, number>()
  const note = (message: unknown): void => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage }
    const at = Date.parse(response.headers.date ?? '')
    if (!Number.isNaN(at)) skews.set(String(request.getHeader('host')), at + HALF_A_SECOND - Date.now())
  }
  subscribe(RESPONSES, note)
  try {
    return { results: await Promise.all(settings.backends.map(each => probe(each, settings, options))), skews }
  } finally {
    unsubscribe(RESPONSES, note)
  }
}

async function readState({ env, home, now }: CommandIo): Promise<Pick<Examination, 'backlog' | 'unjudged' | 'losses'>> {
  const directory = stateHome(env, home)
  if (directory === undefined) return { backlog: [], unjudged: [], losses: [] }
  const [backlog, unjudged] = await Promise.all([readBacklog(directory), readUndecided(directory)])
  return { backlog, unjudged, losses: await readLosses(directory, now() - LOSSES_SHOWN_MILLIS) }
}

/** Like an agent's pipeline: the terminal backend holds nothing, and without a log of held traces there is no tail sampling. */
function samplingOf(config: ResolvedConfig, { env, home }: CommandIo) {
  const directory = stateHome(env, home)
  const { backends, tailSampling } = pipelineSettings(config, env, home)
  const destinations = backends.flatMap(backend => {
    const planned = planBackend(backend)
    const isKept = planned.ok && planned.plan.traces && planned.plan.row.transport !== 'console'
    return isKept ? [[backend.name, destinationOf(planned.plan)] as const] : []
  })
  const isSampling = tailSampling !== undefined || (directory !== undefined && hasKeptLog(directory))
  return { destinations: new Map(destinations), isSampling }
}

const NEEDED = NODE_RANGE.replace(/^[^\d]*/, '')

/** Checks the Node that runs this command. The agent may run under another one. */
export function checkNode(version: string = process.versions.node): DoctorFinding {
  if (version.localeCompare(NEEDED, 'en', { numeric: true }) >= 0) return finding('ok', 'Node', `v${version}`)
  const what = `v${version} is too old: hookspan needs ${NEEDED} or later`
  return finding('fail', 'Node', what, 'update Node, for the agent, too')
}
