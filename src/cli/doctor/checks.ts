import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { BacklogEntry, Loss, UndecidedEntry } from '../../delivery/trace-log/index.ts'
import { stateHome } from '../../plugin/config/paths.ts'
import type { ConfigProblem } from '../../plugin/config/reading.ts'
import { type ShownKey, showConfig, usualPlace } from '../../plugin/config/show.ts'
import type { KeyName, Resolution } from '../../plugin/config/types.ts'
import { countOf, humanAge, humanBytes, humanDuration } from '../../reading/human-figures.ts'
import { namespaceOf } from '../../reading/span-attributes.ts'
import { readTraceFile } from '../../reading/stored-span.ts'
import { listSegments } from '../../reading/trace-log.ts'
import { type CommandIo, inOneLine } from '../command.ts'
import { HOSTS, type HostRow, hostsHere } from '../init/hosts.ts'
import type { InitContext } from '../init/plan.ts'
import { packageFolder } from '../package-folder.ts'
import { PROBE_SERVICE, PROBE_SPAN, type ProbeOptions, type ProbeResult } from './probe.ts'

/** `note`: information; `warn`: works, but needs attention; `fail`: broken, and the exit code is 1. */
export type Level = 'ok' | 'note' | 'warn' | 'fail'

export const AREAS = [
  'Node',
  'Agents',
  'Configuration',
  'Trace log',
  'Backends',
  'Clocks',
  'Proxies',
  'Pending delivery',
  'Dropped spans',
] as const

export type Area = (typeof AREAS)[number]

export interface DoctorFinding {
  readonly level: Level
  readonly area: Area
  readonly what: string
  readonly remedy?: string
}

export function finding(level: Level, area: Area, what: string, remedy?: string): DoctorFinding {
  return { level, area, what, ...(remedy === undefined ? {} : { remedy }) }
}

export function isWrong({ level }: DoctorFinding): boolean {
  return level === 'fail'
}

export interface ConfigFacts {
  readonly file: string | undefined
  readonly values: readonly ShownKey[]
  readonly problems: readonly ConfigProblem[]
}

export function readConfigFacts(resolution: Resolution): ConfigFacts {
  const values = showConfig(resolution).filter(({ source }) => !/^default\b/.test(source))
  return { file: resolution.file, values: values.map(fromCommandLine), problems: resolution.problems }
}

/** `--backend` is the only option of this command that sets a key. */
function fromCommandLine(shown: ShownKey): ShownKey {
  return shown.source === 'code' ? { ...shown, source: '--backend' } : shown
}

export function checkConfig(facts: ConfigFacts, resolution: Resolution, io: CommandIo): readonly DoctorFinding[] {
  const file = facts.file === undefined ? `no file; ${usualPlace(io.env, io.home)}` : `${facts.file} is used`
  return [finding('ok', 'Configuration', file), ...facts.problems.map(problemFinding), ...intentions(resolution)]
}

function problemFinding({ level, message }: ConfigProblem): DoctorFinding {
  const what = message.replace(/^config: /, '')
  const advises = /did you mean|chmod/.test(what)
  const remedy = advises ? undefined : 'correct it; "hookspan config" prints the effective configuration'
  return finding(level === 'error' ? 'fail' : 'warn', 'Configuration', what, remedy)
}

function intentions({ config, sources }: Resolution): DoctorFinding[] {
  const found: DoctorFinding[] = []
  const say = (level: 'note' | 'warn', key: KeyName, what: string, remedy: string): void => {
    found.push(finding(level, 'Configuration', `${what} (${sources.get(key)?.detail ?? 'default'})`, remedy))
  }
  if (!config.enabled) say('warn', 'enabled', 'nothing is recorded: hookspan is disabled', 'set enabled to true')
  const share = config.sample_rate ?? 1
  if (share === 0) say('warn', 'sample_rate', 'no trace is recorded: sample_rate is 0', 'raise sample_rate')
  else if (share < 1)
    say('note', 'sample_rate', `about ${percent(share)} % of traces are recorded`, 'raise sample_rate for more')
  if (config.local_log) return found
  const goesNowhere = config.backends.length === 0
  const fate = goesNowhere
    ? 'traces are not stored or sent: no backend is configured, and'
    : 'spans that a backend does not accept are dropped:'
  say(goesNowhere ? 'warn' : 'note', 'local_log', `${fate} local_log is off`, 'set local_log to true')
  return found
}

function percent(share: number): string {
  const figure = share * 100
  return figure < 1 ? figure.toPrecision(1) : String(Math.round(figure))
}

export interface AgentState {
  readonly name: string
  /** Its program or folder on this machine. `isSetUp`: it loads hookspan. `problem`: its configuration could not be read. */
  readonly sign: string | undefined
  readonly isSetUp: boolean
  readonly problem?: string
  /** Epoch milliseconds; undefined if the newest part of the trace log has none of its spans. */
  readonly lastSeenAt: number | undefined
}

/** The newest part of the trace log, which is read to find the agents seen last. A whole log takes seconds. */
const MAX_READ_BYTES = 33_554_432

export async function readAgents(io: CommandIo): Promise<readonly AgentState[]> {
  if (io.home === '') return []
  const places = { env: io.env, home: io.home, folder: packageFolder() }
  const context: InitContext = { ...places, freshToken: '', freshPort: () => Promise.resolve(0) }
  const signs = new Map(hostsHere(context).map(({ name, sign }) => [name, sign]))
  const seen = await readLastSeen(io)
  const names = [...new Set([...HOSTS.keys(), ...seen.keys()])]
  const agents = names.map(async (name): Promise<AgentState> => {
    const row = HOSTS.get(name)
    const setup = row === undefined ? { isSetUp: false } : await setupOf(row, context)
    return { name, sign: signs.get(name), lastSeenAt: seen.get(name), ...setup }
  })
  return (await Promise.all(agents)).filter(
    ({ sign, isSetUp, problem, lastSeenAt }) => isSetUp || [sign, problem, lastSeenAt].some(fact => fact !== undefined),
  )
}

/** An agent is set up if `init --undo` would have something to remove. Only plans it. */
async function setupOf(
  { setup, otherWay }: HostRow,
  context: InitContext,
): Promise<Pick<AgentState, 'isSetUp' | 'problem'>> {
  try {
    const plans = [await setup.undo(context), await otherWay?.undo(context)]
    return { isSetUp: plans.some(plan => plan !== undefined && plan.kind !== 'nothing') }
  } catch (error) {
    return { isSetUp: false, problem: inOneLine(error) }
  }
}

async function readLastSeen({ env, home }: CommandIo): Promise<ReadonlyMap<string, number>> {
  const seen = new Map<string, number>()
  const directory = stateHome(env, home)
  if (directory === undefined) return seen
  try {
    let readBytes = 0
    for (const path of (await listSegments(join(directory, 'traces'))).reverse()) {
      readBytes += (await stat(path)).size
      if (readBytes > MAX_READ_BYTES && seen.size > 0) break
      await noteHosts(path, seen)
    }
  } catch {
    // The checks of the trace log report it.
  }
  return seen
}

async function noteHosts(path: string, seen: Map<string, number>): Promise<void> {
  for await (const entry of readTraceFile(path)) {
    for (const span of 'spans' in entry ? [...entry.running, ...entry.spans] : []) {
      const host = span.attributes[`${namespaceOf(span)}.host`]
      if (typeof host === 'string') seen.set(host, Math.max(seen.get(host) ?? 0, span.endAt))
    }
  }
}

export function checkAgents(agents: readonly AgentState[], now: number): readonly DoctorFinding[] {
  if (agents.length > 0) return agents.map(agent => agentFinding(agent, now))
  return [finding('note', 'Agents', 'none was found', 'for an agent of your own, see docs/hooks.md')]
}

function agentFinding({ name, sign, isSetUp, problem, lastSeenAt }: AgentState, now: number): DoctorFinding {
  const seen = lastSeenAt === undefined ? 'no trace of it yet' : `last seen ${humanAge(now - lastSeenAt)} ago`
  if (problem !== undefined) return finding('note', 'Agents', `${name}: cannot be checked: ${problem}`)
  if (isSetUp) {
    const remedy = lastSeenAt === undefined ? 'use it; restart it first if it was running' : undefined
    return finding('ok', 'Agents', `${name}: set up, ${seen}`, remedy)
  }
  if (sign === undefined) return finding('ok', 'Agents', `${name}: ${seen}`)
  return finding('note', 'Agents', `${name}: found (${sign}), not set up`, `run "npx hookspan init ${name}"`)
}

export function hasAgent(agents: readonly AgentState[]): boolean {
  return agents.some(({ isSetUp, lastSeenAt }) => isSetUp || lastSeenAt !== undefined)
}

/** An agent's handling, with this configuration, of traces that killed processes held for tail sampling. */
export interface SamplingState {
  readonly destinations: ReadonlyMap<string, string>
  readonly isOn: boolean
}

interface BacklogContext {
  readonly configured: ReadonlySet<string>
  readonly failing: ReadonlySet<string>
  readonly maxAgeHours: number
  readonly judging: SamplingState
  readonly now: number
}

export function checkBacklog(
  entries: readonly BacklogEntry[],
  context: BacklogContext,
  unjudged: readonly UndecidedEntry[] = [],
): readonly DoctorFinding[] {
  if (entries.length + unjudged.length === 0) return [finding('ok', 'Pending delivery', 'nothing')]
  return [
    ...entries.map(entry => entryFinding(entry, context)),
    ...unjudged.map(entry => unjudgedFinding(entry, context)),
  ]
}

function entryFinding(entry: BacklogEntry, { configured, failing, maxAgeHours, now }: BacklogContext): DoctorFinding {
  const { backend, segments, bytes, oldestAt, isLive } = entry
  const age = humanDuration(Math.max(0, now - oldestAt))
  const what = `${humanBytes(bytes)} for ${backend} in ${countOf(segments, 'file')}, the oldest begun ${age} ago`
  const say = (level: 'note' | 'warn', why: string, remedy?: string): DoctorFinding =>
    finding(level, 'Pending delivery', `${what}; ${why}`, remedy)
  if (!configured.has(backend)) {
    const remedy = `configure ${backend} again; otherwise it is deleted after ${maxAgeHours} h`
    return say('warn', 'no backend has that name now', remedy)
  }
  if (isLive) return say('note', 'a running agent delivers it')
  // Sent now, it would fail like the probe.
  const first = failing.has(backend) ? `first fix ${backend}, see above; then ` : ''
  const remedy = `${first}hookspan send --backend ${backend}, or start an agent`
  return say('warn', 'no running agent delivers it', remedy)
}

/** Held traces can only go to the backends they were held for: a process with other backends leaves them alone forever. */
function unjudgedFinding(entry: UndecidedEntry, { judging, maxAgeHours, now }: BacklogContext): DoctorFinding {
  const { destinations, segments, bytes, oldestAt } = entry
  const age = humanDuration(Math.max(0, now - oldestAt))
  const names = [...destinations.keys()].sort().join(', ')
  const what = `${humanBytes(bytes)} held for ${names} in ${countOf(segments, 'file')}, the oldest begun ${age} ago; its agent ended before tail sampling decided`
  const say = (more: string, remedy: string): DoctorFinding =>
    finding('warn', 'Pending delivery', `${what}${more}`, remedy)
  const otherwise = `hookspan send TRACE_ID sends one trace, and the rest is deleted after ${maxAgeHours} h`
  if (!isSame(destinations, judging.destinations)) {
    const remedy = `configure ${names}, with the same addresses as then and no others, and run hookspan send; otherwise ${otherwise}`
    return say(', and other backends are configured now', remedy)
  }
  if (!judging.isOn) return say(', and keep is off', `set keep, and run hookspan send; otherwise ${otherwise}`)
  return say('', 'hookspan send, or start an agent')
}

function isSame(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([name, destination]) => other.get(name) === destination)
}

const DAYS = 7
export const LOSSES_SHOWN_MILLIS: number = DAYS * 86_400_000

export function checkLosses(losses: readonly Loss[], now: number): readonly DoctorFinding[] {
  if (losses.length === 0) return [finding('ok', 'Dropped spans', `nothing in the last ${DAYS} days`)]
  return losses.map(loss => lossFinding(loss, now))
}

function lossFinding({ at, backend, spans, reason }: Loss, now: number): DoctorFinding {
  const ago = humanDuration(Math.max(0, now - at))
  const what = `${countOf(spans, 'span')} for ${backend}, the last ${ago} ago: ${reason}`
  return finding('warn', 'Dropped spans', what, remedyFor(reason))
}

const REMEDIES: readonly (readonly [reason: RegExp, remedy: string])[] = [
  [/trace log/, 'raise local_log_max_bytes, or fix that backend earlier'],
  [/queue/, 'make the trace log writable, or raise span_batch_max_queue_size'],
  [/rejected|^status/, 'see the log of that backend'],
]

function remedyFor(reason: string): string {
  const known = REMEDIES.find(([words]) => words.test(reason))
  return known?.[1] ?? 'fix that backend, see above'
}

const LOOK = `look for service ${PROBE_SERVICE}, span ${PROBE_SPAN} there`
const PROBE = `${LOOK}; its attributes name the time and machine of sending`

export function checkBackends(results: readonly ProbeResult[], options: ProbeOptions): readonly DoctorFinding[] {
  if (results.length === 0) return [finding('ok', 'Backends', 'none is configured: nothing leaves this machine')]
  const probed = results.some(({ delivered }) => delivered === true) ? [finding('note', 'Backends', PROBE)] : []
  const findings = results.flatMap(result => [
    ...outcomeFindings(result, options),
    ...result.problems.map(({ what, remedy }) => finding('fail', 'Backends', what, remedy)),
    ...result.warnings.map(({ what, remedy }) => finding('warn', 'Backends', what, remedy)),
  ])
  return [...findings, ...probed]
}

/** Returns nothing if the problems already explain the outcome. */
function outcomeFindings(result: ProbeResult, { isOffline, waitMillis }: ProbeOptions): DoctorFinding[] {
  const { name, type, url, isSentLogs, delivered, metrics, problems } = result
  const say = (level: Level, what: string, remedy?: string): DoctorFinding[] => [
    finding(level, 'Backends', `${name}${url === undefined ? '' : ` ${url}`}: ${what}`, remedy),
  ]
  if (type === 'console') return say('ok', 'prints to the terminal of the agent')
  if (delivered === true) return say(...deliveredWords(result, waitMillis))
  if (problems.length > 0) return []
  if (metrics === true) return say('ok', 'a metric was delivered; it receives no traces')
  if (isOffline) return say('note', 'not tried')
  return say(
    'note',
    isSentLogs ? 'it receives only log events, which are not probed' : 'it receives neither traces nor metrics',
  )
}

type Words = readonly [level: Level, what: string, remedy?: string]

function deliveredWords({ readBack, readBackUrl, metrics, millis, type }: ProbeResult, waitMillis: number): Words {
  const also = metrics === true ? ', and so was a metric' : ''
  const taken = humanDuration(millis ?? 0)
  const done = `delivered in ${taken}${also}`
  const wait = humanDuration(waitMillis)
  switch (readBack?.kind) {
    case undefined:
      return ['ok', `${done}; ${type} has no API for reading it back`]
    case 'found':
      return ['ok', `delivered and read back in ${taken}${also}`]
    case 'missing':
      return [
        'warn',
        `${done}, but ${readBackUrl} has not shown it within ${wait}${readBack.status === undefined ? '' : ` (it answers ${readBack.status})`}`,
        `some servers take longer: try --wait 30000, or ${LOOK}`,
      ]
    case 'refused':
      return [
        'warn',
        `${done}, but ${readBackUrl} answered the query with ${readBack.status}`,
        `check that its key has read access, or ${LOOK}`,
      ]
    case 'unreachable':
      return ['note', `${done}; not read back: ${readBackUrl} is not reachable (${readBack.code})`, LOOK]
    case 'page':
      return ['note', `${done}; not read back: ${readBackUrl} is a web page, not the API of ${type}`, LOOK]
  }
}
