import type { Environment } from '../../config/paths.ts'
import { type Finding, finding } from './finding.ts'
import { isLoopback, ProxyVariables } from './proxy-variables.ts'

/** A backend as far as a proxy could stand between. */
export interface ProxiedBackend {
  readonly name: string
  /** Absent for a file or the terminal. */
  readonly url?: string
  /** Null = nothing was sent. */
  readonly delivered: boolean | null
}

const LOCAL_HOSTS = ['localhost', '127.0.0.1']
const COLLECTOR = 'send to an OpenTelemetry Collector on this machine, which goes through the proxy'

/** What proxy variables do to traffic that hookspan depends on. Its own requests never go through a proxy. */
export function checkProxies(env: Environment, backends: readonly ProxiedBackend[]): readonly Finding[] {
  const proxies = new ProxyVariables(env)
  const names = new Set([proxies.forScheme('http'), proxies.forScheme('https')])
  names.delete(undefined)
  if (names.size === 0) return [finding('ok', 'Proxies', 'no proxy variables are set')]
  return [
    loopbackFinding(proxies, [...names].join(' and ')),
    ...backends.flatMap(backend => remoteFinding(proxies, backend)),
  ]
}

/**
 * Many HTTP clients make no exception for loopback by themselves: a host that posts its hooks to this machine would hand
 * prompts to the proxy.
 */
function loopbackFinding(proxies: ProxyVariables, names: string): Finding {
  const name = proxies.forScheme('http')
  const captured = LOCAL_HOSTS.filter(host => !proxies.spares(host))
  if (name === undefined || captured.length === 0) {
    const spared = name === undefined ? '' : ', and NO_PROXY spares this machine'
    return finding('ok', 'Proxies', `${names} set; hookspan itself uses no proxy${spared}`)
  }
  const agents = proxies.areNodes
    ? ['agents in Python', 'agents in Node, which is told to use it']
    : ['agents in Python']
  const programs = ['curl', ...agents].join(', ')
  const what = `${name} captures what other programs (${programs}) send to ${captured.join(' and ')}; hookspan itself uses no proxy`
  const verb = proxies.hasExceptions ? 'add to NO_PROXY: ' : 'set NO_PROXY='
  return finding('warn', 'Proxies', what, `${verb}localhost,127.0.0.1,::1`)
}

function remoteFinding(proxies: ProxyVariables, { name, url, delivered }: ProxiedBackend): Finding[] {
  const { hostname, protocol } = new URL(url ?? 'http://localhost')
  const variable = proxies.forScheme(protocol === 'https:' ? 'https' : 'http')
  if (variable === undefined || isLoopback(hostname) || proxies.spares(hostname)) return []
  const what = `${name} (${hostname}) is reached directly, not by way of ${variable}`
  if (delivered === true) return [finding('ok', 'Proxies', `${what}, and that works`)]
  const remedy = `if this network lets nothing out but through the proxy, ${COLLECTOR}`
  return [finding(delivered === false ? 'warn' : 'note', 'Proxies', what, remedy)]
}
