import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PUBLISHED } from './build.mjs'
import { median } from './figures.mjs'
import { withReceiver } from './running-receiver.mjs'

const RUNS = 41
const FORWARDER = fileURLToPath(new URL('hook.cjs', PUBLISHED))
const CPU_AT_EXIT = fileURLToPath(new URL('cpu-at-exit.cjs', import.meta.url))
const PROGRAMS = { bare: ['-e', '0'], ours: [FORWARDER, 'claude-code'] }
const EVENT = JSON.stringify({
  ...{ hook_event_name: 'PostToolUse', session_id: 's', tool_name: 'Bash', tool_use_id: 'c' },
  tool_response: { stdout: 'a line that a command has printed\n'.repeat(55) },
})

/** Milliseconds of one process, as an agent starts it and waits for its end. */
function millisOf(program, env) {
  const startedAt = performance.now()
  const stdio = ['pipe', 'ignore', 'inherit', 'pipe']
  const { status, output } = spawnSync(process.execPath, ['-r', CPU_AT_EXIT, ...program], { env, stdio, input: EVENT })
  if (status !== 0) throw new Error(`${program[0]} ended with ${status}`)
  return { wall: performance.now() - startedAt, cpu: Number(output[3]) / 1000 }
}

/** What an agent pays for a hook that is a command, on top of Node itself: fresh processes, in turn. */
export function forwarderCost() {
  return withReceiver(async receiver => {
    const { PATH } = process.env
    const env = { PATH, HOME: receiver.home, XDG_STATE_HOME: join(receiver.home, 'state') }
    const runs = { bare: [], ours: [] }
    for (let run = 0; run < RUNS; run++) {
      for (const [side, program] of Object.entries(PROGRAMS)) runs[side].push(millisOf(program, env))
    }
    const { deliveries } = (await receiver.rested()).counts
    if (deliveries !== RUNS) throw new Error(`${RUNS} events were told, ${deliveries} came`)
    const of = (side, what) => median(runs[side].map(each => each[what]))
    const added = what => of('ours', what) - of('bare', what)
    return { wallMillis: added('wall'), cpuMillis: added('cpu'), bareMillis: of('bare', 'wall') }
  })
}
