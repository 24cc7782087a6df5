import { randomBytes } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { existsSync } from 'node:fs'
import { lstat, readdir, rm, rmdir, stat, statfs, writeFile } from 'node:fs/promises'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { destinationOf, planBackend } from '../../delivery/pipeline/backend-plan.ts'
import type { BacklogEntry, Loss, UndecidedEntry } from '../../delivery/trace-log/index.ts'
import { hasKeptLog, readBacklog, readLosses, readUndecided } from '../../delivery/trace-log/index.ts'
import { makeDirectory } from '../../delivery/trace-log/private-file.ts'
import { type Environment, stateHome, variable } from '../../plugin/config/paths.ts'
import { resolveConfig } from '../../plugin/config/resolve.ts'
import { type ShownKey, showConfig, usualPlace } from '../../plugin/config/show.ts'
import type { KeyName, Resolution, ResolvedConfig } from '../../plugin/config/types.ts'
import { NODE_RANGE } from '../../plugin/package-facts.ts'
import { pipelineSettings } from '../../plugin/settings.ts'
import { countOf, humanAge, humanBytes, humanDuration } from '../../reading/human-figures.ts'
import { namespaceOf } from '../../reading/span-attributes.ts'
import { readTraceFile } from '../../reading/stored-span.ts'
import { listSegments } from '../../reading/trace-log.ts'
import { type CommandIo, inOneLine, shellQuoted, whyNot } from '../command.ts'
import { HOSTS, type HostRow, hostsHere } from '../init/hosts.ts'
import type { InitContext } from '../init/plan.ts'
import { packageFolder } from '../package-folder.ts'
import { PROBE_SERVICE, PROBE_SPAN, type ProbeOptions, type ProbeResult, probe } from './probe.ts'

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

function finding(level: Level, area: Area, what: string, remedy?: string): DoctorFinding {
  return { level, area, what, ...(remedy === undefined ? {} : { remedy }) }
}

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

function checkConfig(resolution: Resolution, io: CommandIo): readonly DoctorFinding[] {
  const { file, problems } = resolution
  const found = problems.map(({ level, message }) => {
    const what = message.replace(/^config: /, '')
    const advises = /did you mean|chmod/.test(what)
    const remedy = advises ? undefined : 'correct it; "hookspan config" prints the effective configuration'
    return finding(level === 'error' ? 'fail' : 'warn', 'Configuration', what, remedy)
  })
  const used = file === undefined ? `no file; ${usualPlace(io.env, io.home)}` : `${file} is used`
  return [finding('ok', 'Configuration', used), ...found, ...intentions(resolution)]
}

function intentions({ config, sources }: Resolution): DoctorFinding[] {
  const found: DoctorFinding[] = []
  const say = (level: 'note' | 'warn', key: KeyName, what: string, remedy: string): void => {
    found.push(finding(level, 'Configuration', `${what} (${sources.get(key)?.detail ?? 'default'})`, remedy))
  }
  if (!config.enabled) say('warn', 'enabled', 'nothing is recorded: hookspan is disabled', 'set enabled to true')
  const share = config.sample_rate ?? 1
  const percent = share < 0.01 ? (share * 100).toPrecision(1) : String(Math.round(share * 100))
  if (share === 0) say('warn', 'sample_rate', 'no trace is recorded: sample_rate is 0', 'raise sample_rate')
  else if (share < 1)
    say('note', 'sample_rate', `about ${percent} % of traces are recorded`, 'raise sample_rate for more')
  if (config.local_log) return found
  const isSent = config.backends.length > 0
  const lost = 'spans that a backend does not accept are dropped:'
  const fate = isSent ? lost : 'traces are not stored or sent: no backend is configured, and'
  say(isSent ? 'note' : 'warn', 'local_log', `${fate} local_log is off`, 'set local_log to true')
  return found
}

interface AgentState {
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

async function readAgents(io: CommandIo): Promise<readonly AgentState[]> {
  const { env, home } = io
  if (home === '') return []
  const context = { env, home, folder: packageFolder(), freshToken: '', freshPort: () => Promise.resolve(0) }
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
async function setupOf({ setup, otherWay }: HostRow, context: InitContext) {
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

function checkAgents(agents: readonly AgentState[], now: number): readonly DoctorFinding[] {
  const found = agents.map(({ name, sign, isSetUp, problem, lastSeenAt }) => {
    const seen = lastSeenAt === undefined ? 'no trace of it yet' : `last seen ${humanAge(now - lastSeenAt)} ago`
    if (problem !== undefined) return finding('note', 'Agents', `${name}: cannot be checked: ${problem}`)
    const remedy = lastSeenAt === undefined ? 'use it; restart it first if it was running' : undefined
    if (isSetUp) return finding('ok', 'Agents', `${name}: set up, ${seen}`, remedy)
    if (sign === undefined) return finding('ok', 'Agents', `${name}: ${seen}`)
    return finding('note', 'Agents', `${name}: found (${sign}), not set up`, `run "npx hookspan init ${name}"`)
  })
  if (found.length > 0) return found
  return [finding('note', 'Agents', 'none was found', 'for an agent of your own, see docs/hooks.md')]
}

interface BacklogContext {
  readonly configured: ReadonlySet<string>
  readonly failing: ReadonlySet<string>
  readonly maxAgeHours: number
  /** The backends that an agent with this configuration holds traces for, and whether it samples held traces. */
  readonly destinations: ReadonlyMap<string, string>
  readonly isSampling: boolean
  readonly now: number
}

export function checkBacklog(
  entries: readonly BacklogEntry[],
  unjudged: readonly UndecidedEntry[],
  context: BacklogContext,
): readonly DoctorFinding[] {
  if (entries.length + unjudged.length === 0) return [finding('ok', 'Pending delivery', 'nothing')]
  return [
    ...entries.map(entry => entryFinding(entry, context)),
    ...unjudged.map(entry => unjudgedFinding(entry, context)),
  ]
}

/** `in 2 files, the oldest begun 5 m 00 s ago` */
function extentText({ segments, oldestAt }: BacklogEntry | UndecidedEntry, { now }: BacklogContext): string {
  return `in ${countOf(segments, 'file')}, the oldest begun ${humanDuration(Math.max(0, now - oldestAt))} ago`
}

function entryFinding(entry: BacklogEntry, context: BacklogContext): DoctorFinding {
  const { backend, bytes, isLive } = entry
  const { configured, failing, maxAgeHours } = context
  const say = (level: 'note' | 'warn', why: string, remedy?: string): DoctorFinding => {
    const what = `${humanBytes(bytes)} for ${backend} ${extentText(entry, context)}; ${why}`
    return finding(level, 'Pending delivery', what, remedy)
  }
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
function unjudgedFinding(entry: UndecidedEntry, context: BacklogContext): DoctorFinding {
  const { destinations, bytes } = entry
  const names = [...destinations.keys()].sort().join(', ')
  const what = `${humanBytes(bytes)} held for ${names} ${extentText(entry, context)}; its agent ended before tail sampling decided`
  const say = (more: string, remedy: string): DoctorFinding =>
    finding('warn', 'Pending delivery', `${what}${more}`, remedy)
  const otherwise = `run hookspan send; otherwise hookspan send TRACE_ID sends one trace, and the rest is deleted after ${context.maxAgeHours} h`
  if (!isDeepStrictEqual(destinations, context.destinations)) {
    const remedy = `configure ${names}, with the same addresses as then and no others, and ${otherwise}`
    return say(', and other backends are configured now', remedy)
  }
  if (!context.isSampling) return say(', and keep is off', `set keep, and ${otherwise}`)
  return say('', 'hookspan send, or start an agent')
}

const DAYS = 7
const LOSSES_SHOWN_MILLIS = DAYS * 86_400_000

export function checkLosses(losses: readonly Loss[], now: number): readonly DoctorFinding[] {
  if (losses.length === 0) return [finding('ok', 'Dropped spans', `nothing in the last ${DAYS} days`)]
  return losses.map(({ at, backend, spans, reason }) => {
    const ago = humanDuration(Math.max(0, now - at))
    const what = `${countOf(spans, 'span')} for ${backend}, the last ${ago} ago: ${reason}`
    const remedy = REMEDIES.find(([words]) => words.test(reason))?.[1] ?? 'fix that backend, see above'
    return finding('warn', 'Dropped spans', what, remedy)
  })
}

const REMEDIES: readonly (readonly [reason: RegExp, remedy: string])[] = [
  [/trace log/, 'raise local_log_max_bytes, or fix that backend earlier'],
  [/queue/, 'make the trace log writable, or raise span_batch_max_queue_size'],
  [/rejected|^status/, 'see the log of that backend'],
]

const LOOK = `look for service ${PROBE_SERVICE}, span ${PROBE_SPAN} there`
const PROBE = `${LOOK}; its attributes name the time and machine of sending`

function checkBackends(results: readonly ProbeResult[], options: ProbeOptions): readonly DoctorFinding[] {
  if (results.length === 0) return [finding('ok', 'Backends', 'none is configured: nothing leaves this machine')]
  const findings = results.flatMap(result => [
    ...outcomeFindings(result, options),
    ...result.problems.map(({ what, remedy }) => finding('fail', 'Backends', what, remedy)),
    ...result.warnings.map(({ what, remedy }) => finding('warn', 'Backends', what, remedy)),
  ])
  const isProbed = results.some(({ delivered }) => delivered === true)
  return isProbed ? [...findings, finding('note', 'Backends', PROBE)] : findings
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
  if (isSentLogs) return say('note', 'it receives only log events, which are not probed')
  return say('note', 'it receives neither traces nor metrics')
}

type Words = readonly [level: Level, what: string, remedy?: string]

function deliveredWords({ readBack, readBackUrl, metrics, millis, type }: ProbeResult, waitMillis: number): Words {
  const also = metrics === true ? ', and so was a metric' : ''
  const taken = humanDuration(millis ?? 0)
  const done = `delivered in ${taken}${also}`
  if (readBack === null) return ['ok', `${done}; ${type} has no API for reading it back`]
  const { kind } = readBack
  if (kind === 'found') return ['ok', `delivered and read back in ${taken}${also}`]
  if (kind === 'missing') {
    const status = readBack.status === undefined ? '' : ` (it answers ${readBack.status})`
    const what = `${done}, but ${readBackUrl} has not shown it within ${humanDuration(waitMillis)}${status}`
    return ['warn', what, `some servers take longer: try --wait 30000, or ${LOOK}`]
  }
  if (kind === 'refused') {
    const what = `${done}, but ${readBackUrl} answered the query with ${readBack.status}`
    return ['warn', what, `check that its key has read access, or ${LOOK}`]
  }
  const why = kind === 'page' ? `a web page, not the API of ${type}` : `not reachable (${readBack.code})`
  return ['note', `${done}; not read back: ${readBackUrl} is ${why}`, LOOK]
}

/** The URL is undefined for a file or the terminal. */
export type ProxiedBackend = Pick<ProbeResult, 'name' | 'url' | 'delivered'>

const LOCAL_HOSTS = ['localhost', '127.0.0.1']
const COLLECTOR = 'send to an OpenTelemetry Collector on this machine, which goes through the proxy'

/** Reports effects of proxy variables on traffic that hookspan depends on. Its own requests never use a proxy. */
export function checkProxies(env: Environment, backends: readonly ProxiedBackend[]): readonly DoctorFinding[] {
  const proxies = proxyVariables(env)
  const names = new Set([proxies.forScheme('http'), proxies.forScheme('https')])
  names.delete(undefined)
  if (names.size === 0) return [finding('ok', 'Proxies', 'no proxy variables are set')]
  return [
    loopbackFinding(proxies, [...names].join(' and ')),
    ...backends.flatMap(backend => remoteFinding(proxies, backend)),
  ]
}

/** Many HTTP clients do not exempt loopback: a host that posts its hooks to this machine would send prompts to the proxy. */
function loopbackFinding(proxies: ProxyVariables, names: string): DoctorFinding {
  const name = proxies.forScheme('http')
  const captured = LOCAL_HOSTS.filter(host => !proxies.spares(host))
  if (name === undefined || captured.length === 0) {
    const spared = name === undefined ? '' : ', and NO_PROXY exempts this machine'
    return finding('ok', 'Proxies', `${names} set; hookspan itself uses no proxy${spared}`)
  }
  const what = `${name} captures what other programs (curl, agents in Python, agents in Node with NODE_USE_ENV_PROXY) send to ${captured.join(' and ')}; hookspan itself uses no proxy`
  const verb = proxies.hasExceptions ? 'add to NO_PROXY: ' : 'set NO_PROXY='
  return finding('warn', 'Proxies', what, `${verb}localhost,127.0.0.1,::1`)
}

function remoteFinding(proxies: ProxyVariables, { name, url, delivered }: ProxiedBackend): DoctorFinding[] {
  const { hostname, protocol } = new URL(url ?? 'http://localhost')
  const variable = proxies.forScheme(protocol === 'https:' ? 'https' : 'http')
  if (variable === undefined || isLoopback(hostname) || proxies.spares(hostname)) return []
  const what = `${name} (${hostname}) is reached directly, not through ${variable}`
  if (delivered === true) return [finding('ok', 'Proxies', `${what}, and that works`)]
  const remedy = `if this network requires the proxy, ${COLLECTOR}`
  return [finding(delivered === false ? 'warn' : 'note', 'Proxies', what, remedy)]
}

type ProxyVariables = ReturnType<typeof proxyVariables>

/** The proxy settings of the environment. Addresses may contain credentials, so only variable names are exposed. */
function proxyVariables(env: Environment) {
  const exceptions = (variable(env, 'no_proxy') ?? variable(env, 'NO_PROXY') ?? '').toLowerCase().split(/[\s,]+/)
  return {
    hasExceptions: exceptions.some(entry => entry !== ''),
    forScheme(scheme: 'http' | 'https'): string | undefined {
      const names = [`${scheme}_proxy`, `${scheme.toUpperCase()}_PROXY`, 'all_proxy', 'ALL_PROXY']
      return names.find(name => variable(env, name) !== undefined)
    },
    /** True if `NO_PROXY` covers the host, its domain or `*`. Entries with a port and blocks besides loopback do not count. */
    spares(host: string): boolean {
      const wanted = bare(host)
      return exceptions.some(entry => {
        const excepted = bare(entry.replace(/^\*?\./, ''))
        if (entry === '*' || excepted === wanted) return true
        if (excepted === '127.0.0.0/8' && wanted.startsWith('127.')) return true
        return excepted !== '' && wanted.endsWith(`.${excepted}`)
      })
    },
  }
}

function isLoopback(host: string): boolean {
  const name = bare(host.toLowerCase())
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d+){3}$/.test(name)
}

function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

const MAX_SKEW_MILLIS = 30_000
const REMEDY = 'set the one that is wrong, best by NTP (on Linux: timedatectl set-ntp true)'

/** @param skews the offsets of servers' clocks from this machine's, by host, in milliseconds. Positive: ahead */
function checkClocks(skews: ReadonlyMap<string, number>): readonly DoctorFinding[] {
  const wrong = [...skews].filter(([, millis]) => Math.abs(millis) > MAX_SKEW_MILLIS)
  const hosts = [...skews.keys()].join(', ')
  if (wrong.length === 0 && hosts === '') return []
  if (wrong.length === 0) {
    return [finding('ok', 'Clocks', `${hosts}: within ${MAX_SKEW_MILLIS / 1000} s of this machine`)]
  }
  return wrong.map(([host, millis]) => {
    const [side, place] = millis > 0 ? ['ahead of', 'past'] : ['behind', 'future']
    const what = `the clock of ${host} is ${humanDuration(Math.abs(millis))} ${side} this machine's: spans show up in its ${place}, or not at all`
    return finding('warn', 'Clocks', what, REMEDY)
  })
}

const OTHERS = 0o077

export async function checkState(
  config: Pick<ResolvedConfig, 'local_log' | 'local_log_max_bytes'>,
  { env, home }: CommandIo,
  write: typeof writeTrial = writeTrial,
): Promise<readonly DoctorFinding[]> {
  if (!config.local_log) return [finding('note', 'Trace log', 'off: nothing is stored on this machine')]
  const directory = stateHome(env, home)
  if (directory === undefined) {
    const what = 'there is no home directory, so nothing is stored on this machine'
    return [finding('fail', 'Trace log', what, 'set XDG_STATE_HOME to a full path')]
  }
  const error = await tryState(directory, write)
  const entries = await listState(directory)
  const access = [...checkModes(directory, entries), ...checkOwner(directory, entries)]
  if (error !== undefined) return [unwritable(directory, error), ...access]
  const free = await freeBytes(directory)
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0)
  const size = entries.length === 0 ? 'not there yet' : `${humanBytes(bytes)} in it`
  const room = free === undefined ? '' : `, ${humanBytes(free)} free`
  const good = finding('ok', 'Trace log', `${directory} can be written; ${size}${room}`)
  const growth = config.local_log_max_bytes - bytes
  if (free === undefined || free >= growth) return [good, ...access]
  const what = `the disk has ${humanBytes(free)} free, and the trace log may still grow by ${humanBytes(growth)}`
  return [good, ...access, finding('warn', 'Trace log', what, 'free some space, or lower local_log_max_bytes')]
}

const WRITE_REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: 'free some space on that disk',
  EDQUOT: 'free some space, or raise the quota',
  ENOTDIR: 'move the file out of the way',
  EEXIST: 'move the file out of the way',
  EACCES: 'make it writable for the user that the agent runs as',
  EPERM: 'make it writable for the user that the agent runs as',
  EROFS: 'mount it writable',
}

function unwritable(directory: string, error: unknown): DoctorFinding {
  const { code } = (error ?? {}) as { code?: unknown }
  const remedy = WRITE_REMEDIES[String(code)] ?? 'make it writable'
  const why = code === 'EEXIST' ? whyNot({ code: 'ENOTDIR' }) : whyNot(error)
  const what = `${directory} cannot be written: ${why}; traces are not stored, and spans that a backend does not accept are dropped`
  return finding('fail', 'Trace log', what, `${remedy}, or set XDG_STATE_HOME to another place`)
}

/** Files in a directory that only its owner may enter are private, whatever their own mode. On Windows, modes are not real. */
function checkModes(directory: string, entries: readonly StateEntry[]): DoctorFinding[] {
  if (process.platform === 'win32') return []
  const [first, ...more] = entries.filter(({ mode }) => (mode & OTHERS) !== 0)
  if (first === undefined) return []
  const remedy = `chmod -R go= ${shellQuoted(directory)}`
  const mode = `(mode ${first.mode.toString(8).padStart(4, '0')})`
  if (first === entries[0]) {
    const what = `other users can read ${directory} ${mode}, which contains prompts and actions of agents`
    return [finding('fail', 'Trace log', what, remedy)]
  }
  const files = countOf(more.length + 1, 'file')
  const what = `${files} in ${directory} are readable by other users; the first is ${first.path} ${mode}`
  return [finding('warn', 'Trace log', what, remedy)]
}

function checkOwner(directory: string, entries: readonly StateEntry[]): DoctorFinding[] {
  const user = process.getuid?.()
  const foreign = entries.find(({ owner }) => user !== undefined && owner !== user)
  if (foreign === undefined) return []
  const what = `${foreign.path} belongs to user ${foreign.owner}, and this is user ${user}: one of them cannot write there`
  const remedy = `run agents and hookspan as one user; this makes it yours: sudo chown -R ${user} ${shellQuoted(directory)}`
  return [finding('warn', 'Trace log', what, remedy)]
}

const TRIAL_BYTES = 65_536

/** Does what the first span does, and removes everything again. @returns the error of the file system; undefined on success */
async function tryState(stateDirectory: string, write: typeof writeTrial): Promise<unknown> {
  const traces = join(stateDirectory, 'traces')
  const file = join(traces, `.doctor-${process.pid}-${randomBytes(4).toString('hex')}`)
  const missing: string[] = []
  // On Windows, a drive that does not exist is its own parent.
  for (let each = traces; !existsSync(each) && dirname(each) !== each; each = dirname(each)) missing.push(each)
  try {
    makeDirectory(traces)
    await write(file)
    return undefined
  } catch (error) {
    return error
  } finally {
    await rm(file, { force: true }).catch(() => undefined)
    // Only empty directories are removed: an agent may have started to use them.
    for (const directory of missing) await rmdir(directory).catch(() => undefined)
  }
}

/** Random, because a file system may not store zeros. Synced, because a disk may reject data that a cache accepts. */
async function writeTrial(path: string): Promise<void> {
  await writeFile(path, randomBytes(TRIAL_BYTES), { flag: 'wx', mode: 0o600, flush: true })
}

interface StateEntry {
  readonly path: string
  readonly mode: number
  readonly owner: number
  readonly bytes: number
}

const LOG = ['traces', 'spool', 'sent']
/** Traces held for tail sampling have a log of their own, see `keptDirectory`. */
const DIRECTORIES = [...LOG, 'kept', ...LOG.map(name => join('kept', name))]

async function listState(stateDirectory: string): Promise<readonly StateEntry[]> {
  // Follow the link: the state directory may be on another disk, and the mode of a link means nothing.
  const top = await stat(stateDirectory).catch(() => undefined)
  if (!top?.isDirectory()) return []
  const names = await namesIn(stateDirectory)
  const inner = DIRECTORIES.map(name => join(stateDirectory, name))
  const held = await Promise.all(inner.map(async path => (await namesIn(path)).map(name => join(path, name))))
  const paths = [...names.map(name => join(stateDirectory, name)), ...held.flat()]
  const entries: StateEntry[] = [{ path: stateDirectory, mode: top.mode & 0o777, owner: top.uid, bytes: 0 }]
  // Sequential: a long outage leaves too many files to read at once.
  for (const path of paths) {
    const stats = await lstat(path).catch(() => undefined)
    if (stats === undefined || stats.isSymbolicLink()) continue
    entries.push({ path, mode: stats.mode & 0o777, owner: stats.uid, bytes: stats.isFile() ? stats.size : 0 })
  }
  return entries
}

async function namesIn(directory: string): Promise<string[]> {
  return (await readdir(directory).catch(() => [])).sort()
}

/** The free bytes available to this user. Undefined if the system does not report it. */
async function freeBytes(path: string): Promise<number | undefined> {
  for (let place = path; ; place = dirname(place)) {
    const found = await statfs(place).catch(() => undefined)
    if (found !== undefined) return found.bavail * found.bsize
    if (place === dirname(place)) return undefined
  }
}
