import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type ChaosBehaviour, ChaosSink } from '../support/chaos-sink.mjs'
import { type CheckOptions, checkDelivery, type DeliveryCheck, SENDER_HEADER } from '../support/delivery-check.ts'
import { Host, type HostEnd, type HostOptions } from './host.ts'

const LOOK_MILLIS = 50
const NAME_VARIABLE = 'HOST_NAME'
const HERE = dirname(fileURLToPath(import.meta.url))
const PROGRAM = join(HERE, '..', 'support', 'streaming-host.mjs')
/** A build of another place can be tried by naming its directory. */
const DIST = process.env['HOOKSPAN_DIST'] ?? join(HERE, '..', '..', 'dist')

export interface BackendEntry {
  readonly name: string
  readonly endpoint: string
  readonly type?: string
  readonly protocol?: 'http/json' | 'http/protobuf'
  readonly headers?: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

/** How long to wait for everything to be where it belongs. */
export interface Patience extends CheckOptions {
  readonly millis?: number
}

/** Sinks, hosts and a state directory of one test. */
export class Scene {
  readonly directory: string = mkdtempSync(join(tmpdir(), 'hookspan-reliability-'))
  /** `XDG_STATE_HOME`. */
  stateHome: string = join(this.directory, 'state')
  readonly #configPath = join(this.directory, 'config.json')
  readonly #sinks: ChaosSink[] = []
  readonly #hosts: Host[] = []

  get stateDirectory(): string {
    return join(this.stateHome, 'hookspan')
  }

  async sink(behaviour?: ChaosBehaviour): Promise<ChaosSink> {
    const sink = await ChaosSink.start(behaviour)
    this.#sinks.push(sink)
    return sink
  }

  /** Backends without metrics, and any other key of the configuration, for the hosts that start from now on. */
  configure(backends: readonly BackendEntry[], settings: Readonly<Record<string, unknown>> = {}): void {
    const sender = { [SENDER_HEADER]: `\${${NAME_VARIABLE}}` }
    const entries = backends.map(({ headers, ...entry }) => ({
      type: 'otlp',
      metrics: false,
      ...entry,
      headers: { ...sender, ...headers },
    }))
    const config = { span_batch_schedule_delay_ms: 100, ...settings, backends: entries }
    writeFileSync(this.#configPath, JSON.stringify(config), { mode: 0o600 })
  }

  /** `under`: a command that runs it, such as one that gives it a small disk. */
  start(options: HostOptions = {}, under: readonly string[] = []): Host {
    const ordinal = this.#hosts.length
    const name = `h${ordinal}`
    const witness = join(this.directory, `witness-${ordinal}.jsonl`)
    const given = { seed: ordinal, ...options, name, witness, module: join(DIST, 'index.js') }
    const command = [...under, process.execPath, '--expose-gc', PROGRAM, JSON.stringify(given)]
    const env = {
      PATH: process.env['PATH'],
      HOME: this.directory,
      XDG_STATE_HOME: this.stateHome,
      HOOKSPAN_CONFIG: this.#configPath,
      [NAME_VARIABLE]: name,
    }
    const host = new Host({ name, command, env, witnessPath: witness, manner: options.end ?? 'natural' })
    this.#hosts.push(host)
    return host
  }

  /** Whether this backend has got everything that all hosts of the scene told. */
  check(sink: ChaosSink, options?: CheckOptions): DeliveryCheck {
    const accounts = this.#hosts.map(host => host.account())
    return checkDelivery(accounts, sink, options)
  }

  /** Waits until that is so, or for too long: then the check that follows says what is missing. */
  async settled(sinks: readonly ChaosSink[], { millis = 40_000, ...options }: Patience = {}): Promise<void> {
    const isDone = (): boolean => sinks.every(sink => this.check(sink, options).problems.length === 0)
    const deadlineAt = performance.now() + millis
    while (performance.now() < deadlineAt) {
      const lookedAt = performance.now()
      if (isDone()) return
      // The sinks live in the same process, and must not wait for whoever looks at them.
      await pause(LOOK_MILLIS + 4 * (performance.now() - lookedAt))
    }
  }

  /**
   * A process that starts on what others have left, tells one turn, and lives until everything is where it belongs, or
   * too long.
   */
  async successor(sinks: readonly ChaosSink[], patience?: Patience): Promise<HostEnd> {
    const host = this.start({ turns: 1, sessions: 1, hooksPerSecond: 2000, end: 'stdin' })
    await host.ready()
    await this.settled(sinks, patience)
    return host.finish()
  }

  /** Resolves once so many lines are in the segments of a host, or it has told everything: then there may be no more. */
  async logged(host: Host, lines: number): Promise<void> {
    const segments = (): string[] => this.files('traces').filter(path => path.endsWith(`-${host.pid}.jsonl`))
    const written = (): string => segments().reduce((text, path) => text + readFileSync(path, 'utf8'), '')
    while (!host.lastReport?.isOver && written().split('\n').length <= lines) await pause(LOOK_MILLIS)
  }

  /** As somebody who clears up does it, in one go: what is written meanwhile would be in its way. */
  removeState(): void {
    const away = join(this.directory, 'removed')
    renameSync(this.stateDirectory, away)
    rmSync(away, { recursive: true })
  }

  /** Files of a folder of the state directory, in order of their names. */
  files(folder: 'traces' | 'spool' | 'kept/spool'): string[] {
    const directory = join(this.stateDirectory, folder)
    if (!existsSync(directory)) return []
    return readdirSync(directory)
      .sort()
      .map(name => join(directory, name))
  }

  /** A file outside of the state directory. */
  put(name: string, content: string): string {
    const path = join(this.directory, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    return path
  }

  /** What a failing test should say beside its own words. */
  stderrOfHosts(): string {
    return this.#hosts.map(({ stderr }, index) => `host ${index}: ${stderr.trim() || '(silent)'}`).join('\n')
  }

  async end(): Promise<void> {
    await Promise.all(this.#hosts.map(host => host.kill()))
    await Promise.all(this.#sinks.map(sink => sink.stop()))
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** A test in a scene of its own, which is cleared away whatever happens. */
export function inScene(play: (scene: Scene) => Promise<void>): () => Promise<void> {
  return async () => {
    const scene = new Scene()
    try {
      await play(scene)
    } catch (error) {
      if (error instanceof Error) error.message += `\n${scene.stderrOfHosts()}`
      throw error
    } finally {
      await scene.end()
    }
  }
}
