import { execFile, execFileSync, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'

/** Where a program is, when it is installed. */
export function findProgram(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map(directory => join(directory, name))
    .find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export interface Checked {
  readonly code: number
  /** Both streams: a lint is a complaint wherever it is printed. */
  readonly output: string
}

/** Runs promtool to its end. */
export function promtool(path: string, args: readonly string[], input = ''): Promise<Checked> {
  return new Promise(resolve => {
    const child = execFile(path, args, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, output: stdout + stderr })
    })
    child.stdin?.end(input)
  })
}

/** 2, 3, … */
export function majorVersion(path: string): number {
  const text = execFileSync(path, ['--version'], { encoding: 'utf8' })
  return Number(/version (\d+)\./.exec(text)?.[1])
}

/** A port of the loopback interface that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

/** One sample of an instant query. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [at: number, text: string]
}

/** A real Prometheus with its own data and port. */
export class PrometheusServer {
  readonly #child: ReturnType<typeof spawn>
  readonly #url: string
  #log = ''

  constructor(path: string, config: string, data: string, port: number) {
    this.#url = `http://127.0.0.1:${port}`
    const address = `--web.listen-address=127.0.0.1:${port}`
    const args = [`--config.file=${config}`, `--storage.tsdb.path=${data}`, address, '--log.level=warn']
    this.#child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', chunk => {
        this.#log += String(chunk)
      })
    }
  }

  /** What it has printed: the reason when it does not start. */
  get log(): string {
    return this.#log
  }

  /** No samples while it is not up yet. */
  async query(expression: string): Promise<readonly Sample[]> {
    const url = `${this.#url}/api/v1/query?query=${encodeURIComponent(expression)}`
    const response = await fetch(url).catch(() => undefined)
    if (!response?.ok) return []
    const { data } = (await response.json()) as { data: { result: readonly Sample[] } }
    return data.result
  }

  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.#child.once('close', resolve))
    if (this.#child.exitCode === null && this.#child.kill('SIGTERM')) await closed
  }
}
