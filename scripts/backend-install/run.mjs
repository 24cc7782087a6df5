import { spawn } from 'node:child_process'

const DEFAULT_MILLIS = 15 * 60_000
/** Of what a command said: its end, which has the reason. */
const QUOTED = 4000

/**
 * Runs a command to its end.
 *
 * @param options `cwd`; `env` in addition to ours; `timeoutMillis` (default a quarter of an hour), then it is killed
 * @returns what it wrote to standard output
 * @throws with the end of both its streams, when it fails
 */
export function run(program, args, { cwd, env = {}, timeoutMillis = DEFAULT_MILLIS } = {}) {
  const what = [program, ...args].join(' ')
  return new Promise((resolve, reject) => {
    // A group of its own: npm, pip and go start others, which are ended with it.
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let said = ''
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      killGroup(child)
    }, timeoutMillis)
    child.stdout.setEncoding('utf8').on('data', text => {
      stdout += text
      said = (said + text).slice(-QUOTED)
    })
    child.stderr.setEncoding('utf8').on('data', text => {
      said = (said + text).slice(-QUOTED)
    })
    const onExit = () => killGroup(child)
    process.once('exit', onExit)
    const finish = problem => {
      clearTimeout(timer)
      process.off('exit', onExit)
      if (problem === undefined) resolve(stdout)
      else reject(new Error(`${what}: ${problem}\n${said.trim()}`))
    }
    child.once('error', error => finish(error.message))
    child.once('close', (code, signal) => {
      if (isLate) finish(`still running after ${timeoutMillis} ms`)
      else finish(code === 0 ? undefined : `ended with ${code ?? signal}`)
    })
  })
}

function killGroup(child) {
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // There is nobody left in it.
  }
}
