import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ENTRY = new URL('../../dist/index.js', import.meta.url).href
const PLACE = fileURLToPath(new URL('../..', import.meta.url))

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** Far above what is promised: it tells a process that hangs from one that is slow. */
const HANG_MILLIS = 20_000

/** A host in a process of its own, which finds `createPlugin` in scope. One that hangs is killed. */
export async function runHost(body: string, env: Readonly<Record<string, string>>): Promise<Ended> {
  const program = `import { createPlugin } from ${JSON.stringify(ENTRY)}\n${body}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: PLACE,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: HANG_MILLIS,
    killSignal: 'SIGKILL',
  })
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].on('data', chunk => {
      output[stream] += String(chunk)
    })
  }
  return new Promise(resolve => child.on('close', (code, signal) => resolve({ code, signal, ...output })))
}
