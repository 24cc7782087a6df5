import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { compose, yaml } from '../../observability/stack-files.ts'
import { freePorts } from '../support/free-port.ts'
import { installedPath } from '../support/installed.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

/** One series of an instant query. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [seconds: number, text: string]
}

/** One series of a range query. */
export interface Line {
  readonly metric: Readonly<Record<string, string>>
  readonly values: readonly (readonly [seconds: number, text: string])[]
}

/** As the page of the rules has it. */
export interface Rule {
  readonly name: string
  readonly state: 'inactive' | 'pending' | 'firing'
  readonly health: string
  readonly lastError?: string
  readonly query: string
}

export interface PrometheusOptions {
  /** Where the jobs of `observability/prometheus.yml` find their targets, `host:port`. A job without one is left out. */
  readonly targets?: Readonly<Record<string, string>>
  /** Default: those of `observability/`. */
  readonly rules?: string
  /** The working directory, in which it looks for its page. Default: one without a page. */
  readonly web?: string
}

/** In seconds. */
export interface Range {
  readonly start: number
  readonly end: number
  readonly step: number
}

export interface PrometheusServer {
  readonly url: string
  /** Where hookspan pushes metrics to: the `endpoint` of a backend. */
  readonly otlpUrl: string
  readonly log: string
  /** Any of its HTTP API, `/api/v1/…`: the `data` of the answer. */
  get<Data>(path: string, parameters?: Readonly<Record<string, string>>): Promise<Data>
  query(expression: string): Promise<readonly Sample[]>
  queryRange(expression: string, range: Range): Promise<readonly Line[]>
  rules(): Promise<readonly Rule[]>
  stop(): Promise<void>
}

interface Configuration {
  readonly [key: string]: unknown
  readonly global: object
  readonly scrape_configs: readonly { readonly job_name: string; file_sd_configs?: unknown }[]
}

const RULES = fileURLToPath(new URL('../../../observability/rules.yml', import.meta.url))
/** The file asks for a quarter of a minute: a test would wait for it again and again. */
const OFTEN = { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' }

/** Prometheus as the compose file runs it: its flags, its configuration, its rules. Only addresses and times are ours. */
export async function startPrometheus(options: PrometheusOptions = {}): Promise<PrometheusServer> {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-prometheus-'))
  const [port = 0] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  const config = join(folder, 'prometheus.yml')
  const data = join(folder, 'data')
  mkdirSync(data)
  writeFileSync(config, stringify(configurationOf(options)))
  const listen = `--web.listen-address=127.0.0.1:${port}`
  const args = [...flagsOf({ 'config.file': config, 'storage.tsdb.path': data }), listen]
  const program = installedPath('prometheus')
  const cwd = options.web ?? dirname(program)
  const server = await startServer({ program, args, cwd, readyUrl: `${url}/-/ready` })
  return new RunningPrometheus(url, server, folder)
}

class RunningPrometheus implements PrometheusServer {
  readonly url: string
  readonly otlpUrl: string
  readonly #server: ServerProcess
  readonly #folder: string

  constructor(url: string, server: ServerProcess, folder: string) {
    this.url = url
    this.otlpUrl = `${url}/api/v1/otlp`
    this.#server = server
    this.#folder = folder
  }

  get log(): string {
    return this.#server.log
  }

  async get<Data>(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<Data> {
    const response = await fetch(`${this.url}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    const answer = (await response.json()) as { readonly data: Data; readonly error?: string }
    if (!response.ok) throw new Error(`${path} ${JSON.stringify(parameters)}: ${answer.error}`)
    return answer.data
  }

  async query(expression: string): Promise<readonly Sample[]> {
    const { result } = await this.get<{ result: readonly Sample[] }>('query', { query: expression })
    return result
  }

  async queryRange(expression: string, { start, end, step }: Range): Promise<readonly Line[]> {
    const parameters = { query: expression, start: String(start), end: String(end), step: String(step) }
    const { result } = await this.get<{ result: readonly Line[] }>('query_range', parameters)
    return result
  }

  async rules(): Promise<readonly Rule[]> {
    const { groups } = await this.get<{ groups: readonly { readonly rules: readonly Rule[] }[] }>('rules')
    return groups.flatMap(group => group.rules)
  }

  async stop(): Promise<void> {
    await this.#server.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** The flags of the compose file, with other paths. */
function flagsOf(paths: Readonly<Record<string, string>>): string[] {
  return (compose.services['prometheus']?.command ?? []).map(flag => {
    const [, name = ''] = /^--([\w.-]+)/.exec(flag) ?? []
    return paths[name] === undefined ? flag : `--${name}=${paths[name]}`
  })
}

function configurationOf({ targets = {}, rules = RULES }: PrometheusOptions): Configuration {
  const file = yaml<Configuration>('observability/prometheus.yml')
  const jobs = file.scrape_configs
    .filter(({ job_name }) => targets[job_name] !== undefined)
    .map(({ file_sd_configs: _files, ...job }) => ({
      ...job,
      static_configs: [{ targets: [targets[job.job_name]] }],
    }))
  return { ...file, global: { ...file.global, ...OFTEN }, rule_files: [rules], scrape_configs: jobs }
}
