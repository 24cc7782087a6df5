import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** None lives longer: one that hangs must not hang the bench. */
const LONGEST_MILLIS = 900_000

/** A directory for one measurement, which is gone afterwards. */
export async function inScratch(measure) {
  const directory = mkdtempSync(join(tmpdir(), 'hookspan-bench-'))
  try {
    return await measure(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** A program of this directory, in an environment that nothing of this machine's configuration reaches. */
export function startProgram(name, given, home, ...flags) {
  const program = fileURLToPath(new URL(name, import.meta.url))
  const { PATH, HOOKSPAN_DIST, HOOKSPAN_BUILD } = process.env
  const measured = { ...(HOOKSPAN_DIST && { HOOKSPAN_DIST }), ...(HOOKSPAN_BUILD && { HOOKSPAN_BUILD }) }
  const env = { PATH, HOME: home, XDG_STATE_HOME: join(home, 'state'), ...measured }
  return spawn(process.execPath, [...flags, program, JSON.stringify(given)], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    timeout: LONGEST_MILLIS,
    killSignal: 'SIGKILL',
  })
}

/** What a program tells before it ends, one JSON object, and its `complaints`, lines for a person. Rejects where it breaks. */
export async function answerOf(name, given, home, ...flags) {
  const child = startProgram(name, given, home, ...flags)
  let [said, complaints] = ['', '']
  child.stdout.setEncoding('utf8').on('data', text => {
    said += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    complaints += text
  })
  const [code, signal] = await once(child, 'close')
  if (code !== 0) throw new Error(`${name} ended with ${code ?? signal}: ${complaints}`)
  return { ...JSON.parse(said), complaints }
}
