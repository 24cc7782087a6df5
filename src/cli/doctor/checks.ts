import { randomBytes } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { lstat, mkdir, open, readdir, rm, rmdir, stat, statfs } from 'node:fs/promises'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { dirname, join } from 'node:path'
import type { BacklogEntry, Loss, UndecidedEntry } from '../../delivery/trace-log/index.ts'
import { type Environment, stateHome, variable } from '../../plugin/config/paths.ts'
import type { ConfigProblem } from '../../plugin/config/reading.ts'
import { type ShownKey, showConfig, usualPlace } from '../../plugin/config/show.ts'
import type { KeyName, Resolution, ResolvedConfig } from '../../plugin/config/types.ts'
import { countOf, humanAge, humanBytes, humanDuration } from '../../reading/human-figures.ts'
import { namespaceOf } from '../../reading/span-attributes.ts'
import { readTraceFile } from '../../reading/stored-span.ts'
import { listSegments } from '../../reading/trace-log.ts'
import { type CommandIo, inOneLine } from '../command.ts'
import { whyNot } from '../file-trouble.ts'
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

export interface ProxiedBackend {
  readonly name: string
  /** Undefined for a file or the terminal. */
  readonly url?: string
  readonly delivered: boolean | null
}

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
  const agents = proxies.areNodes
    ? ['agents in Python', 'agents in Node, which is configured to use it']
    : ['agents in Python']
  const programs = ['curl', ...agents].join(', ')
  const what = `${name} captures what other programs (${programs}) send to ${captured.join(' and ')}; hookspan itself uses no proxy`
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
    /** True if Node itself is configured to use them, which is possible from version 24 on. */
    areNodes:
      variable(env, 'NODE_USE_ENV_PROXY') === '1' ||
      /(^|\s)--use-env-proxy(\s|$)/.test(variable(env, 'NODE_OPTIONS') ?? ''),
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

const CHANNEL = 'http.client.response.finish'
/** The `Date` header is truncated to whole seconds. */
const HALF_A_SECOND = 500

/** The offset of a server's clock from this machine's. Positive: ahead. */
interface ClockSkew {
  readonly host: string
  readonly millis: number
}

/**
 * Reads the `Date` header of every response that this process receives. Listens on a diagnostics channel, because the pipeline
 * does not expose its responses.
 */
export class AnswerDates {
  readonly #skews = new Map<string, number>()

  constructor() {
    subscribe(CHANNEL, this.#note)
  }

  get skews(): readonly ClockSkew[] {
    return [...this.#skews].map(([host, millis]) => ({ host, millis }))
  }

  close(): void {
    unsubscribe(CHANNEL, this.#note)
  }

  readonly #note = (message: unknown): void => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage }
    const at = Date.parse(response.headers.date ?? '')
    if (!Number.isNaN(at)) this.#skews.set(String(request.getHeader('host')), at + HALF_A_SECOND - Date.now())
  }
}

const MAX_MILLIS = 30_000
const REMEDY = 'set the one that is wrong, best by NTP (on Linux: timedatectl set-ntp true)'

export function checkClocks(skews: readonly ClockSkew[]): readonly DoctorFinding[] {
  const wrong = skews.filter(({ millis }) => Math.abs(millis) > MAX_MILLIS)
  if (wrong.length > 0) return wrong.map(skewFinding)
  if (skews.length === 0) return []
  const hosts = skews.map(({ host }) => host).join(', ')
  const what = `${hosts}: within ${MAX_MILLIS / 1000} s of this machine`
  return [finding('ok', 'Clocks', what)]
}

function skewFinding({ host, millis }: ClockSkew): DoctorFinding {
  const [side, place] = millis > 0 ? ['ahead of', 'past'] : ['behind', 'future']
  const what = `the clock of ${host} is ${humanDuration(Math.abs(millis))} ${side} this machine's: spans show up in its ${place}, or not at all`
  return finding('warn', 'Clocks', what, REMEDY)
}

const OTHERS = 0o077

type StateConfig = Pick<ResolvedConfig, 'local_log' | 'local_log_max_bytes'>

export async function checkState(
  config: StateConfig,
  { env, home }: CommandIo,
  write: TrialWriter = writeTrial,
): Promise<readonly DoctorFinding[]> {
  if (!config.local_log) return [finding('note', 'Trace log', 'off: nothing is stored on this machine')]
  const directory = stateHome(env, home)
  if (directory === undefined) {
    const what = 'there is no home directory, so nothing is stored on this machine'
    return [finding('fail', 'Trace log', what, 'set XDG_STATE_HOME to a full path')]
  }
  const error = await tryState(directory, write)
  const entries = await listState(directory)
  const free = await freeBytes(directory)
  return [
    error === undefined ? good(directory, entries, free) : unwritable(directory, error),
    ...checkModes(directory, entries),
    ...checkOwner(directory, entries),
    ...(error === undefined ? checkRoom(entries, free, config) : []),
  ]
}

function good(directory: string, entries: readonly StateEntry[], free: number | undefined): DoctorFinding {
  const size = `${humanBytes(bytesOf(entries))} in it`
  const room = free === undefined ? '' : `, ${humanBytes(free)} free`
  return finding(
    'ok',
    'Trace log',
    `${directory} can be written; ${entries.length === 0 ? 'not there yet' : size}${room}`,
  )
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
  const [top, ...inner] = entries
  const wide = inner.filter(({ mode }) => (mode & OTHERS) !== 0)
  const isOpen = top !== undefined && (top.mode & OTHERS) !== 0
  const remedy = `chmod -R go= ${quoted(directory)}`
  if (isOpen) {
    const what = `other users can read ${directory} (mode ${octal(top)}), which contains prompts and actions of agents`
    return [finding('fail', 'Trace log', what, remedy)]
  }
  const [first] = wide
  if (first === undefined) return []
  const what = `${countOf(wide.length, 'file')} in ${directory} are readable by other users; the first is ${first.path} (mode ${octal(first)})`
  return [finding('warn', 'Trace log', what, remedy)]
}

function checkOwner(directory: string, entries: readonly StateEntry[]): DoctorFinding[] {
  const user = process.getuid?.()
  const foreign = entries.find(({ owner }) => user !== undefined && owner !== user)
  if (foreign === undefined) return []
  const what = `${foreign.path} belongs to user ${foreign.owner}, and this is user ${user}: one of them cannot write there`
  const remedy = `run agents and hookspan as one user; this makes it yours: sudo chown -R ${user} ${quoted(directory)}`
  return [finding('warn', 'Trace log', what, remedy)]
}

function checkRoom(entries: readonly StateEntry[], free: number | undefined, config: StateConfig): DoctorFinding[] {
  const growth = config.local_log_max_bytes - bytesOf(entries)
  if (free === undefined || free >= growth) return []
  const what = `the disk has ${humanBytes(free)} free, and the trace log may still grow by ${humanBytes(growth)}`
  return [finding('warn', 'Trace log', what, 'free some space, or lower local_log_max_bytes')]
}

function bytesOf(entries: readonly StateEntry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0)
}

function octal({ mode }: StateEntry): string {
  return mode.toString(8).padStart(4, '0')
}

function quoted(path: string): string {
  return /[^\w./-]/.test(path) ? `'${path.replaceAll("'", "'\\''")}'` : path
}

const TRIAL_BYTES = 65_536

export type TrialWriter = (path: string) => Promise<void>

/**
 * Does the same work as the first span: creates the directories, writes a file of the size of a batch, and removes everything
 * again.
 *
 * @returns the error of the file system; undefined on success
 */
async function tryState(stateDirectory: string, write: TrialWriter): Promise<unknown> {
  const traces = join(stateDirectory, 'traces')
  const file = join(traces, `.doctor-${process.pid}-${randomBytes(4).toString('hex')}`)
  const made: string[] = []
  try {
    await makeDirectories(traces, made)
    await write(file)
    return undefined
  } catch (error) {
    return error
  } finally {
    await rm(file, { force: true }).catch(() => undefined)
    // Only empty directories are removed: an agent may have started to use them.
    for (const directory of made.reverse()) await rmdir(directory).catch(() => undefined)
  }
}

/** One level at a time: on a read-only file system, `recursive` reports ENOENT instead of the true error. */
async function makeDirectories(path: string, made: string[]): Promise<void> {
  try {
    await makeDirectory(path, made)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error
    await makeDirectories(dirname(path), made)
    await makeDirectory(path, made)
  }
}

async function makeDirectory(path: string, made: string[]): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
    made.push(path)
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' && (await stat(path)).isDirectory()
    if (!isThere) throw error
  }
}

/**
 * Random data, because a file system may store zeros without space. Synced, because a disk may reject data that a cache
 * accepts.
 */
export async function writeTrial(path: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(randomBytes(TRIAL_BYTES))
    await handle.sync()
  } finally {
    await handle.close()
  }
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
  for (const path of paths) entries.push(...(await look(path)))
  return entries
}

async function look(path: string): Promise<StateEntry[]> {
  const stats = await lstat(path).catch(() => undefined)
  if (stats === undefined || stats.isSymbolicLink()) return []
  return [{ path, mode: stats.mode & 0o777, owner: stats.uid, bytes: stats.isFile() ? stats.size : 0 }]
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
