import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'

const DEFAULT_TIMEOUT_MILLIS = 60_000
/** Of what a process said: enough to see why it hangs, not so much that nobody reads it. */
const QUOTED = 4000

export interface ProcessOptions {
  readonly cwd: string
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>
  /** Then it is killed, and waiting for it fails. Default a minute. */
  readonly timeoutMillis?: number
}

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Leaders of the process groups that are running. */
const groups = new Set<number>()

process.once('exit', () => {
  for (const group of groups) killGroup(group)
})

/** A process with a group of its own, in which nothing outlives it. */
export class HostProcess {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #ended: Promise<Ended>
  readonly #watchers = new Set<() => void>()
  #stdout = ''
  #stderr = ''
  #problem: string | undefined

  constructor(command: string, args: readonly string[], options: ProcessOptions) {
    const { cwd, env, timeoutMillis = DEFAULT_TIMEOUT_MILLIS } = options
    this.#child = spawn(command, args, { cwd, env: { ...env }, detached: true, stdio: 'pipe' })
    const what = [command, ...args].join(' ')
    const timer = setTimeout(() => {
      this.#problem = `${what} was still running after ${timeoutMillis} ms`
      this.#kill()
    }, timeoutMillis)
    this.#listen()
    this.#ended = this.#untilEnd(what).finally(() => clearTimeout(timer))
    // Whoever waits is told; nobody has to.
    this.#ended.catch(() => undefined)
  }

  get stdout(): string {
    return this.#stdout
  }

  get stderr(): string {
    return this.#stderr
  }

  write(text: string): void {
    this.#child.stdin.write(text)
  }

  /** Closes its standard input, and waits for its end. */
  end(text = ''): Promise<Ended> {
    this.#child.stdin.end(text)
    return this.#ended
  }

  /** Ends it by a signal, and waits for that. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.#child.kill(signal)
    return this.#ended
  }

  /**
   * Waits until a text has been written to its standard output so many times.
   *
   * @throws when the process ends without
   */
  async sees(text: string, times = 1): Promise<void> {
    const isThere = (): boolean => this.#stdout.split(text).length > times
    const seen = new Promise<void>(resolve => {
      const look = (): void => {
        if (!isThere()) return
        this.#watchers.delete(look)
        resolve()
      }
      this.#watchers.add(look)
      look()
    })
    await Promise.race([seen, this.#ended])
    if (!isThere()) throw new Error(`it ended without having said ${text}\n${this.#said()}`)
  }

  #listen(): void {
    // It may end without having read everything.
    this.#child.stdin.on('error', () => undefined)
    this.#child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      this.#stdout += chunk
      for (const look of [...this.#watchers]) look()
    })
    this.#child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.#stderr += chunk
    })
    if (this.#child.pid !== undefined) groups.add(this.#child.pid)
  }

  async #untilEnd(what: string): Promise<Ended> {
    const code = await new Promise<number | null>((resolve, reject) => {
      this.#child.once('error', reject)
      // Its own children would keep the pipes open: they go with it.
      this.#child.once('exit', () => this.#kill())
      this.#child.once('close', resolve)
    })
    if (this.#problem !== undefined) throw new Error(`${this.#problem}: ${what}\n${this.#said()}`)
    return { code, stdout: this.#stdout, stderr: this.#stderr }
  }

  #kill(): void {
    const { pid } = this.#child
    if (pid === undefined) return
    killGroup(pid)
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) groups.delete(pid)
  }

  #said(): string {
    return `${this.#stdout.slice(-QUOTED)}\n${this.#stderr.slice(-QUOTED)}`.trim()
  }
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch {
    // There is nobody left in it.
  }
}
