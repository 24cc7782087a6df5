import { type Environment, variable } from '../../plugin/config/paths.ts'
import { type Finding, finding } from './finding.ts'

export interface ProxiedBackend {
  readonly name: string
  /** Undefined for a file or the terminal. */
  readonly url?: string
  /** Null if nothing was sent. */
  readonly delivered: boolean | null
}

const LOCAL_HOSTS = ['localhost', '127.0.0.1']
const COLLECTOR = 'send to an OpenTelemetry Collector on this machine, which goes through the proxy'

/** Reports effects of proxy variables on traffic that hookspan depends on. Its own requests never use a proxy. */
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

/** Many HTTP clients do not exempt loopback: a host that posts its hooks to this machine would send prompts to the proxy. */
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

/** The proxy settings of the environment. Addresses may contain credentials, so only variable names are exposed. */
class ProxyVariables {
  readonly #env: Environment
  readonly #exceptions: readonly string[]

  constructor(env: Environment) {
    this.#env = env
    const named = this.#first('no_proxy', 'NO_PROXY')
    this.#exceptions = (named === undefined ? '' : (variable(env, named) ?? '')).toLowerCase().split(/[\s,]+/)
  }

  /** The name of the proxy variable in force for a scheme; undefined if there is none. */
  forScheme(scheme: 'http' | 'https'): string | undefined {
    const name = `${scheme}_proxy`
    return this.#first(name, name.toUpperCase(), 'all_proxy', 'ALL_PROXY')
  }

  /** True if `NO_PROXY` covers the host itself, its domain or `*`. Entries with a port do not count. */
  spares(host: string): boolean {
    const wanted = bare(host)
    return this.#exceptions.some(entry => {
      const excepted = bare(entry.replace(/^\*?\./, ''))
      if (entry === '*' || excepted === wanted || isBlockOf(excepted, wanted)) return true
      return excepted !== '' && wanted.endsWith(`.${excepted}`)
    })
  }

  get hasExceptions(): boolean {
    return this.#exceptions.some(entry => entry !== '')
  }

  /** True if Node itself is configured to use them, which is possible from version 24 on. */
  get areNodes(): boolean {
    const options = variable(this.#env, 'NODE_OPTIONS') ?? ''
    return variable(this.#env, 'NODE_USE_ENV_PROXY') === '1' || /(^|\s)--use-env-proxy(\s|$)/.test(options)
  }

  #first(...names: string[]): string | undefined {
    return names.find(name => variable(this.#env, name) !== undefined)
  }
}

/** True if requests to the host stay on this machine. */
function isLoopback(host: string): boolean {
  const name = bare(host.toLowerCase())
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d+){3}$/.test(name)
}

function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

/** `127.0.0.0/8` covers all of loopback. Other blocks are irrelevant here. */
function isBlockOf(entry: string, host: string): boolean {
  return entry === '127.0.0.0/8' && host.startsWith('127.')
}
