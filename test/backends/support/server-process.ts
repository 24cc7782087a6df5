import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

const READY_MILLIS = 90_000
const POLL_MILLIS = 100
const ASK_MILLIS = 2_000
const GRACE_MILLIS = 10_000
/** Of what a server printed: enough to see why it does not start. */
const KEPT = 20_000
const QUOTED = 4_000

export interface ServerOptions {
  readonly program: string
  readonly args?: readonly string[]
  /** In addition to ours. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Answers with a 2xx as soon as it can be used. */
  readonly readyUrl: string
  readonly timeoutMillis?: number
  /** How long it may take to end, before it is made to. Default ten seconds. */
  readonly graceMillis?: number
}

export interface ServerProcess {
  /** The end of what it has printed. */
  readonly log: string
  readonly pid: number
  /** Asks it to end, makes it when it does not, and waits for its end. */
  stop(): Promise<void>
  /** As `kill -9` does; resolves when it is gone. */
  kill(): Promise<void>
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/**
 * Starts a server and waits until it answers.
 *
 * @throws with what it has printed, when it ends before or does not answer in time
 */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const server = new Server(options)
  try {
    await server.ready(options.readyUrl, options.timeoutMillis ?? READY_MILLIS)
    return server
  } catch (error) {
    await server.stop()
    throw error
  }
}

class Server implements ServerProcess {
  readonly #child: ChildProcess
  readonly #what: string
  readonly #graceMillis: number
  readonly #exited: Promise<void>
  #isOver = false
  #log = ''

  constructor({ program, args = [], env = {}, cwd, graceMillis = GRACE_MILLIS }: ServerOptions) {
    this.#graceMillis = graceMillis
    this.#what = [program, ...args].join(' ')
    const at = cwd === undefined ? {} : { cwd }
    this.#child = spawn(program, args, { ...at, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    running.add(this.#child)
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.#keep(text))
    }
    this.#exited = new Promise(resolve => {
      this.#child.once('error', error => {
        this.#keep(error.message)
        // It has never run, so there is no exit to come.
        if (this.#child.pid === undefined) this.#over(resolve)
      })
      this.#child.once('exit', () => this.#over(resolve))
    })
  }

  get log(): string {
    return this.#log
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  async ready(url: string, timeoutMillis: number): Promise<void> {
    const deadline = Date.now() + timeoutMillis
    while (!(await answers(url))) {
      if (this.#isOver) throw new Error(`it ended before it was ready: ${this.#said()}`)
      if (Date.now() > deadline) throw new Error(`${url} did not answer in ${timeoutMillis} ms: ${this.#said()}`)
      await sleep(POLL_MILLIS)
    }
    // Somebody else's server on that port answers as well.
    if (this.#isOver) throw new Error(`it ended before it was ready: ${this.#said()}`)
  }

  async stop(): Promise<void> {
    if (this.#isOver) return
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), this.#graceMillis)
    await this.#exited
    clearTimeout(timer)
  }

  async kill(): Promise<void> {
    if (this.#isOver) return
    this.#child.kill('SIGKILL')
    await this.#exited
  }

  #over(resolve: () => void): void {
    this.#isOver = true
    running.delete(this.#child)
    resolve()
  }

  #keep(text: string): void {
    this.#log = (this.#log + text).slice(-KEPT)
  }

  #said(): string {
    return `${this.#what}\n${this.#log.slice(-QUOTED).trim()}`
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ASK_MILLIS) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
