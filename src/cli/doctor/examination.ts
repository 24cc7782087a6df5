import { destinationOf, planBackend } from '../../delivery/pipeline/backend-plan.ts'
import type { BacklogEntry, Loss, UndecidedEntry } from '../../delivery/trace-log/index.ts'
import { hasKeptLog, readBacklog, readLosses, readUndecided } from '../../delivery/trace-log/index.ts'
import { stateHome } from '../../plugin/config/paths.ts'
import { resolveConfig } from '../../plugin/config/resolve.ts'
import type { Resolution, ResolvedConfig } from '../../plugin/config/types.ts'
import { NODE_RANGE, PACKAGE_VERSION } from '../../plugin/package-facts.ts'
import { pipelineSettings } from '../../plugin/settings.ts'
import type { CommandIo } from '../command.ts'
import type { AgentState, ConfigFacts, DoctorFinding, SamplingState, TrialWriter } from './checks.ts'
import {
  AnswerDates,
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
  readConfigFacts,
  writeTrial,
} from './checks.ts'
import { type ProbeOptions, type ProbeResult, probe } from './probe.ts'

export interface ExaminationOptions extends ProbeOptions {
  readonly backends: readonly string[]
}

export interface Examination {
  readonly version: string
  readonly node: string
  readonly agents: readonly AgentState[]
  readonly config: ConfigFacts
  readonly backends: readonly ProbeResult[]
  readonly backlog: readonly BacklogEntry[]
  readonly unjudged: readonly UndecidedEntry[]
  readonly losses: readonly Loss[]
  readonly findings: readonly DoctorFinding[]
}

/** Runs all checks and sends a probe to each backend. Never rejects because of a finding. */
export async function examine(
  options: ExaminationOptions,
  io: CommandIo,
  write: TrialWriter = writeTrial,
): Promise<Examination> {
  const configured = resolveConfig({ env: io.env, home: io.home })
  const { backends: named } = options
  const resolution =
    named.length === 0 ? configured : resolveConfig({ code: { backends: named }, env: io.env, home: io.home })
  const { config } = resolution
  const facts = readConfigFacts(resolution)
  const agents = await readAgents(io)
  const stateFindings = await checkState(config, io, write)
  const { results, skews } = await probeAll(resolution, options, io)
  const { backlog, unjudged, losses } = await readState(io)
  const names = new Set(configured.config.backends.map(({ name }) => name))
  const failing = new Set(results.filter(({ delivered }) => delivered === false).map(({ name }) => name))
  const judging = judgingOf(configured.config, io)
  const context = { configured: names, failing, maxAgeHours: config.local_log_max_age_hours, judging, now: io.now() }
  return {
    version: PACKAGE_VERSION,
    node: process.versions.node,
    agents,
    config: facts,
    backends: results,
    backlog,
    unjudged,
    losses,
    findings: [
      checkNode(),
      ...checkAgents(agents, io.now()),
      ...checkConfig(facts, resolution, io),
      ...stateFindings,
      ...checkBackends(results, options),
      ...checkClocks(skews),
      ...checkProxies(io.env, results),
      ...checkBacklog(backlog, context, unjudged),
      ...checkLosses(losses, io.now()),
    ],
  }
}

/** Probes in parallel, so that a hanging backend does not delay the others. */
async function probeAll({ config }: Resolution, options: ProbeOptions, { env, home }: CommandIo) {
  const settings = pipelineSettings(config, env, home)
  const dates = new AnswerDates()
  try {
    const results = await Promise.all(settings.backends.map(backend => probe(backend, settings, options)))
    return { results, skews: dates.skews }
  } finally {
    dates.close()
  }
}

async function readState({ env, home, now }: CommandIo): Promise<Pick<Examination, 'backlog' | 'unjudged' | 'losses'>> {
  const directory = stateHome(env, home)
  if (directory === undefined) return { backlog: [], unjudged: [], losses: [] }
  const [backlog, unjudged, losses] = await Promise.all([
    readBacklog(directory),
    readUndecided(directory),
    readLosses(directory, now() - LOSSES_SHOWN_MILLIS),
  ])
  return { backlog, unjudged, losses }
}

/** Like an agent's pipeline: the terminal backend holds nothing, and without a log of held traces there is no tail sampling. */
function judgingOf(config: ResolvedConfig, { env, home }: CommandIo): SamplingState {
  const directory = stateHome(env, home)
  const { backends, tailSampling } = pipelineSettings(config, env, home)
  const destinations = backends.flatMap(backend => {
    const planned = planBackend(backend)
    const isKept = planned.ok && planned.plan.traces && planned.plan.row.transport !== 'console'
    return isKept ? [[backend.name, destinationOf(planned.plan)] as const] : []
  })
  const isOn = tailSampling !== undefined || (directory !== undefined && hasKeptLog(directory))
  return { destinations: new Map(destinations), isOn }
}

const NEEDED = NODE_RANGE.replace(/^[^\d]*/, '')

/** Checks the Node that runs this command. The agent may run under another one. */
export function checkNode(version: string = process.versions.node): DoctorFinding {
  if (version.localeCompare(NEEDED, 'en', { numeric: true }) >= 0) return finding('ok', 'Node', `v${version}`)
  const what = `v${version} is too old: hookspan needs ${NEEDED} or later`
  return finding('fail', 'Node', what, 'update Node, for the agent, too')
}
