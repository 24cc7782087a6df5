import { type Environment, variable } from '../../config/paths.ts'

/** Proxies as the environment has them. Their addresses may hold credentials, so only names of variables leave here. */
export class ProxyVariables {
  readonly #env: Environment
  readonly #exceptions: readonly string[]

  constructor(env: Environment) {
    this.#env = env
    const named = this.#first('no_proxy', 'NO_PROXY')
    this.#exceptions = (named === undefined ? '' : (variable(env, named) ?? '')).toLowerCase().split(/[\s,]+/)
  }

  /** The variable that names a proxy for such addresses; undefined where there is none. */
  forScheme(scheme: 'http' | 'https'): string | undefined {
    const name = `${scheme}_proxy`
    return this.#first(name, name.toUpperCase(), 'all_proxy', 'ALL_PROXY')
  }

  /** Whether `NO_PROXY` names the host, itself or by a domain or `*`; not by one port alone. */
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

  /** Whether Node itself is told to use them, from version 24 on. */
  get areNodes(): boolean {
    const options = variable(this.#env, 'NODE_OPTIONS') ?? ''
    return variable(this.#env, 'NODE_USE_ENV_PROXY') === '1' || /(^|\s)--use-env-proxy(\s|$)/.test(options)
  }

  #first(...names: string[]): string | undefined {
    return names.find(name => variable(this.#env, name) !== undefined)
  }
}

/** Whether what is sent to the host stays on this machine. */
export function isLoopback(host: string): boolean {
  const name = bare(host.toLowerCase())
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d+){3}$/.test(name)
}

function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

/** `127.0.0.0/8` covers all of loopback; other blocks hold no host that matters here. */
function isBlockOf(entry: string, host: string): boolean {
  return entry === '127.0.0.0/8' && host.startsWith('127.')
}
