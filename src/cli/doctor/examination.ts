import { stateHome } from '../../config/paths.ts'
import { resolveConfig } from '../../config/resolve.ts'
import type { Resolution } from '../../config/types.ts'
import { type BacklogEntry, type Loss, readBacklog, readLosses } from '../../trace-log/index.ts'
import { NODE_RANGE, PACKAGE_VERSION } from '../../wiring/package-facts.ts'
import { pipelineSettings } from '../../wiring/settings.ts'
import type { CommandIo } from '../command.ts'
import { checkBackends } from './check-backends.ts'
import { type ConfigFacts, checkConfig, readConfigFacts } from './check-config.ts'
import { checkBacklog, checkLosses, LOSSES_SHOWN_MILLIS } from './check-delivery.ts'
import { checkProxies } from './check-proxies.ts'
import { checkState } from './check-state.ts'
import { AnswerDates, type ClockSkew, checkClocks } from './clocks.ts'
import { type Finding, finding } from './finding.ts'
import { probe } from './probe.ts'
import type { ProbeOptions, ProbeResult } from './probe-result.ts'
import { type TrialWriter, writeTrial } from './state-directory.ts'

export interface ExaminationOptions extends ProbeOptions {
  /** As on the command line; they take the place of the configured ones. */
  readonly backends: readonly string[]
}

/** All that was found out. */
export interface Examination {
  readonly version: string
  readonly node: string
  readonly config: ConfigFacts
  readonly backends: readonly ProbeResult[]
  readonly backlog: readonly BacklogEntry[]
  readonly losses: readonly Loss[]
  readonly findings: readonly Finding[]
}

/** Looks at everything, and sends a probe to each backend. Never rejects for what it finds. */
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
  const stateFindings = await checkState(config, io, write)
  const { results, skews } = await probeAll(resolution, options, io)
  const { backlog, losses } = await readState(io)
  const names = new Set(configured.config.backends.map(({ name }) => name))
  const failing = new Set(results.filter(({ delivered }) => delivered === false).map(({ name }) => name))
  const context = { configured: names, failing, maxAgeHours: config.local_log_max_age_hours, now: io.now() }
  return {
    version: PACKAGE_VERSION,
    node: process.versions.node,
    config: facts,
    backends: results,
    backlog,
    losses,
    findings: [
      checkNode(),
      ...checkConfig(facts, resolution, io),
      ...stateFindings,
      ...checkBackends(results, options),
      ...checkClocks(skews),
      ...checkProxies(io.env, results),
      ...checkBacklog(backlog, context),
      ...checkLosses(losses, io.now()),
    ],
  }
}

interface Probed {
  readonly results: readonly ProbeResult[]
  readonly skews: readonly ClockSkew[]
}

/** All at once: one that hangs does not hold up the others. */
async function probeAll({ config }: Resolution, options: ProbeOptions, { env, home }: CommandIo): Promise<Probed> {
  const settings = pipelineSettings(config, env, home)
  const dates = new AnswerDates()
  try {
    const results = await Promise.all(settings.backends.map(backend => probe(backend, settings, options)))
    return { results, skews: dates.skews }
  } finally {
    dates.close()
  }
}

async function readState({ env, home, now }: CommandIo): Promise<Pick<Examination, 'backlog' | 'losses'>> {
  const directory = stateHome(env, home)
  if (directory === undefined) return { backlog: [], losses: [] }
  const [backlog, losses] = await Promise.all([
    readBacklog(directory),
    readLosses(directory, now() - LOSSES_SHOWN_MILLIS),
  ])
  return { backlog, losses }
}

/** The first version that will do, as `package.json` has it. */
const NEEDED = NODE_RANGE.replace(/^[^\d]*/, '')

/** The agent may run under another one: what is looked at is the Node that runs this command. */
export function checkNode(version: string = process.versions.node): Finding {
  if (version.localeCompare(NEEDED, 'en', { numeric: true }) >= 0) return finding('ok', 'Node', `v${version}`)
  const what = `v${version} is too old: hookspan needs ${NEEDED} or later`
  return finding('fail', 'Node', what, 'update Node, for the agent, too')
}
