import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export const REPOSITORY: string = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const MAIN = join(REPOSITORY, 'dist', 'cli', 'main.js')
/** Far above what is promised: it tells a process that hangs from one that is slow. */
const HANG_MILLIS = 60_000

export function fixture(name: string): string {
  return join(REPOSITORY, 'fixtures', name)
}

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Start {
  readonly env?: Readonly<Record<string, string>>
  /** Written to its standard input, which is closed afterwards. */
  readonly input?: string | Uint8Array
  /** Options of node itself. */
  readonly node?: readonly string[]
}

export type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** The real program, as `npm run build` leaves it, with a home directory of its own. */
export class Program {
  readonly home: string = mkdtempSync(join(tmpdir(), 'hookspan-home-'))

  spawn(args: readonly string[], { env = {}, node = [] }: Start = {}): Child {
    return spawn(process.execPath, [...node, MAIN, ...args], {
      cwd: this.home,
      env: { PATH: process.env['PATH'], HOME: this.home, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: HANG_MILLIS,
    })
  }

  /** Runs it to its natural end. */
  run(args: readonly string[], start: Start = {}): Promise<Ended> {
    const child = this.spawn(args, start)
    // It may end without having read everything.
    child.stdin.on('error', () => undefined)
    child.stdin.end(start.input)
    return ended(child)
  }

  remove(): void {
    // A receiver that found another one running may still be ending, and writes into the folder until it has.
    rmSync(this.home, { recursive: true, force: true, maxRetries: 20, retryDelay: 25 })
  }
}

export async function ended(child: Child): Promise<Ended> {
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      output[stream] += chunk
    })
  }
  const code = await new Promise<number | null>(resolve => child.on('close', resolve))
  return { code, ...output }
}
