import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PluginOptions } from '../../../src/index.ts'
import { OtlpSink } from '../../support/otlp-sink.ts'
import { type ReceivedSpan, spansOfRequest } from '../../support/otlp-spans.mjs'
import type { ApplicationFolder } from '../support/application-folder.ts'

/** Far above what a run takes: it tells one that hangs from one that is slow. */
const HANG_MILLIS = 90_000

export interface Play {
  readonly order?: 'host first' | 'plugin first'
  readonly modules?: 'esm' | 'cjs'
  readonly plugin?: PluginOptions
  /** The plugin records through the providers of the host. */
  readonly isHandedIn?: boolean
  /** With every instrumentation that there is, which takes seconds to load; else with those of HTTP. */
  readonly isAuto?: boolean
  readonly diagLevel?: 'WARN' | 'ALL'
  readonly env?: Readonly<Record<string, string>>
}

/** What the program saw, as `programs/scenario.cjs` prints it. */
export interface Seen {
  readonly hadRegistry: boolean
  readonly isRegistryLeft: boolean
  readonly isActiveKept: boolean
  readonly isEnvironmentLeft: boolean
  readonly registrations: Readonly<Record<'trace' | 'context' | 'propagation' | 'metrics', boolean>>
  readonly versions: Readonly<Record<'node' | 'hostApi' | 'pluginApi', string>>
  /** What Prometheus would have got, where it is on. */
  readonly scraped?: string
  /** Lines of the plugin for a person. */
  readonly lines: readonly string[]
  /** What the host's diagnostic logger was told. */
  readonly told: readonly string[]
  readonly stats: { readonly backends: readonly unknown[] }
}

/** A request that the target of the host's own work got, and which spans had come to the host's backend by then. */
export interface Visit {
  readonly headers: IncomingHttpHeaders
  readonly arrived: readonly string[]
}

/** Where the telemetry of an application goes: to a backend of its own, and to two of ours. */
export class Surroundings {
  readonly host: OtlpSink
  readonly json: OtlpSink
  readonly protobuf: OtlpSink
  readonly visits: Map<string, Visit> = new Map()
  readonly startAt: number = Date.now() - 60_000
  readonly #target: Server
  readonly #home: string = mkdtempSync(join(tmpdir(), 'hookspan-coexistence-'))

  private constructor([host, json, protobuf]: readonly [OtlpSink, OtlpSink, OtlpSink]) {
    this.host = host
    this.json = json
    this.protobuf = protobuf
    this.#target = createServer(({ url = '', headers }, response) => {
      this.visits.set(url, { headers, arrived: this.host.spanNames })
      response.end('ok')
    })
  }

  static async start(): Promise<Surroundings> {
    const made = new Surroundings([await OtlpSink.start(), await OtlpSink.start(), await OtlpSink.start()])
    await new Promise<void>(resolve => made.#target.listen(0, '127.0.0.1', resolve))
    return made
  }

  /** By its name: so that it is looked up, which may be traced, too. */
  get targetUrl(): string {
    return `http://localhost:${(this.#target.address() as AddressInfo).port}`
  }

  get ours(): readonly OtlpSink[] {
    return [this.json, this.protobuf]
  }

  async play(folder: ApplicationFolder, play: Play = {}): Promise<Seen> {
    const { order = 'host first', modules = 'esm' } = play
    const loader = ['--import', './loader.mjs', ...(order === 'host first' ? ['--import', './start-host.mjs'] : [])]
    const args = modules === 'esm' ? [...loader, 'esm.mjs'] : ['cjs.cjs']
    const { stdout } = await this.run(folder, args, { ...play, order })
    return JSON.parse(stdout) as Seen
  }

  /** Runs a program in the folder. @throws when it fails, or hangs */
  run(
    folder: ApplicationFolder,
    args: readonly string[],
    play: Play & { readonly stopsAtExit?: boolean },
  ): Promise<{ stdout: string }> {
    const { env = {}, plugin, ...rest } = play
    const about = { ...rest, hostUrl: this.host.url, targetUrl: this.targetUrl, startAt: this.startAt }
    const coexistence = JSON.stringify({ ...about, plugin: { host: 'agent', backends: this.#backends(), ...plugin } })
    const child = spawn(folder.node, args, {
      cwd: folder.path,
      env: { PATH: process.env['PATH'] ?? '', HOME: this.#home, COEXISTENCE: coexistence, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const killing = setTimeout(() => child.kill('SIGKILL'), HANG_MILLIS)
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', text => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', text => (stderr += text))
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, signal) => {
        clearTimeout(killing)
        if (code === 0) resolve({ stdout })
        else reject(new Error(`${args.join(' ')} ended with ${code ?? signal}: ${stderr.slice(-2000)} ${stdout}`))
      })
    })
  }

  async stop(): Promise<void> {
    this.#target.closeAllConnections()
    this.#target.close()
    await Promise.all([this.host, ...this.ours].map(sink => sink.stop()))
    rmSync(this.#home, { recursive: true, force: true })
  }

  #backends(): NonNullable<PluginOptions['backends']> {
    const byName = ({ url }: OtlpSink): string => url.replace('127.0.0.1', 'localhost')
    return [
      { type: 'otlp', name: 'json', endpoint: byName(this.json), protocol: 'http/json' },
      {
        type: 'otlp',
        name: 'protobuf',
        endpoint: byName(this.protobuf),
        protocol: 'http/protobuf',
        compression: 'gzip',
      },
    ]
  }
}

/** The spans that a backend got. */
export function spansAt(sink: OtlpSink): ReceivedSpan[] {
  return sink.requests
    .filter(({ path }) => path === '/v1/traces')
    .flatMap(({ body, headers }) => spansOfRequest(body, headers['content-type'] === 'application/json'))
}
