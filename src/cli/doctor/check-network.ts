import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { type Environment, variable } from '../../plugin/config/paths.ts'
import { humanDuration } from '../../reading/human-figures.ts'
import { type DoctorFinding, finding } from './checks.ts'

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
    /** True if `NO_PROXY` covers the host itself, its domain or `*`. Entries with a port do not count. */
    spares(host: string): boolean {
      const wanted = bare(host)
      return exceptions.some(entry => {
        const excepted = bare(entry.replace(/^\*?\./, ''))
        if (entry === '*' || excepted === wanted) return true
        // The block covers all of loopback. Other blocks are irrelevant here.
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
export interface ClockSkew {
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
