import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { HostAccount } from '../support/delivery-check.ts'
import { readWitness, type WitnessLine } from '../support/witness.ts'

const LOOK_MILLIS = 50

export interface HostOptions {
  readonly seed?: number
  /** `burst`: one turn with `tools` tools, in one tick. */
  readonly work?: 'stream' | 'burst'
  readonly tools?: number
  readonly hooksPerSecond?: number
  /** Told side by side. */
  readonly sessions?: number
  /** Of a tool's result. */
  readonly contentChars?: number
  /** It streams until either is reached; neither = until it is killed. */
  readonly forMillis?: number
  readonly turns?: number
  /** `stdin`: lives on until its standard input is closed, and then ends naturally. */
  readonly end?: 'natural' | 'shutdown' | 'exit' | 'exit in hook' | 'throw' | 'stdin'
  /** Says its memory and statistics so often, after collecting garbage. */
  readonly reportMillis?: number
  /** After so many hooks it pauses, writes everything down, and reports, too. */
  readonly reportHooks?: number
  /** It streams until it has reported so often. */
  readonly reports?: number
  /** After so long it ends, come what may (default 110 000). */
  readonly lifeMillis?: number
}

export interface HostReport {
  readonly at: number
  /** It has told everything. */
  readonly isOver: boolean
  /** Bytes. */
  readonly memory: { readonly heapUsed: number; readonly rss: number; readonly external: number }
  /** Of `plugin.stats()`. */
  readonly stats: {
    readonly backends: readonly {
      readonly name: string
      readonly delivered: number
      readonly dropped: number
      readonly queued: number
      readonly spooled: number
    }[]
  }
}

export interface HostEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly endedAt: number
  /** Lines. */
  readonly stderr: readonly string[]
}

interface HostParts {
  readonly name: string
  readonly command: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly witnessPath: string
  readonly manner: NonNullable<HostOptions['end']>
}

/** A host process that streams hooks. */
export class Host {
  readonly name: string
  readonly witnessPath: string
  readonly reports: HostReport[] = []
  readonly ended: Promise<HostEnd>
  stderr = ''
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #ready: Promise<void>
  readonly #manner: NonNullable<HostOptions['end']>
  #killedAt: number | undefined
  #endedAt: number | undefined
  #witness: { readonly size: number; readonly lines: readonly WitnessLine[] } = { size: 0, lines: [] }

  constructor({ name, command, env, witnessPath, manner }: HostParts) {
    this.name = name
    this.witnessPath = witnessPath
    this.#manner = manner
    const [program = '', ...args] = command
    const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child = child
    child.stdin.on('error', () => undefined)
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.ended = new Promise(resolve => child.on('close', (code, signal) => resolve(this.#end(code, signal))))
    this.#ready = this.#listen(child.stdout)
  }

  /** Resolves when it begins to tell. */
  async ready(): Promise<void> {
    await Promise.race([this.#ready, this.ended])
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get lastReport(): HostReport | undefined {
    return this.reports.at(-1)
  }

  /** Resolves once it has told everything, which on a busy machine takes longer than it was asked to. */
  async over(): Promise<void> {
    let hasEnded = false
    void this.ended.then(() => {
      hasEnded = true
    })
    while (!(hasEnded || this.lastReport?.isOver)) await pause(LOOK_MILLIS)
  }

  /** Resolves once one that reports owes something that is nowhere but in its log. */
  async owing(): Promise<void> {
    while (!this.lastReport?.stats.backends.some(({ spooled }) => spooled > 0)) await pause(LOOK_MILLIS)
  }

  /** Resolves once one that reports has told everything, and holds nothing back. */
  async idle(): Promise<void> {
    const isIdle = ({ isOver, stats }: HostReport): boolean =>
      isOver && stats.backends.every(({ queued, spooled }) => queued + spooled === 0)
    while (!(this.lastReport && isIdle(this.lastReport))) await pause(LOOK_MILLIS)
  }

  /** Closes its standard input: one that waits for it goes on to its end. */
  finish(): Promise<HostEnd> {
    this.#child.stdin.end()
    return this.ended
  }

  async kill(): Promise<HostEnd> {
    this.#killedAt ??= this.#endedAt ?? Date.now()
    this.#child.kill('SIGKILL')
    return this.ended
  }

  /** What it has told, for the checker. */
  account(): HostAccount {
    const told = { name: this.name, witness: this.#readWitness() }
    if (this.#endedAt === undefined) return { ...told, certain: 'everything' }
    if (this.#killedAt !== undefined && this.#killedAt !== this.#endedAt) {
      return { ...told, certain: 'what there was time to save', cutAt: this.#killedAt, openAs: ['crashed'] }
    }
    if (this.#manner === 'natural' || this.#manner === 'shutdown' || this.#manner === 'stdin') {
      return { ...told, certain: 'everything', openAs: ['shutdown'] }
    }
    const certain = this.#manner === 'exit in hook' ? 'all but the last line' : 'everything'
    return { ...told, certain, cutAt: this.#endedAt, openAs: ['crashed', 'shutdown'] }
  }

  /** Read again only when it has grown: whoever waits asks often. */
  #readWitness(): readonly WitnessLine[] {
    const size = statSync(this.witnessPath, { throwIfNoEntry: false })?.size ?? 0
    if (size > this.#witness.size) this.#witness = { size, lines: readWitness(this.witnessPath) }
    return this.#witness.lines
  }

  #end(code: number | null, signal: NodeJS.Signals | null): HostEnd {
    const stderr = this.stderr.split('\n').filter(line => line !== '')
    this.#endedAt = Date.now()
    return { code, signal, endedAt: this.#endedAt, stderr }
  }

  #listen(stdout: Readable): Promise<void> {
    let rest = ''
    return new Promise(resolve => {
      stdout.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          const said = JSON.parse(line) as HostReport | { readonly ready: true }
          if ('ready' in said) resolve()
          else this.reports.push(said)
        }
      })
    })
  }
}
