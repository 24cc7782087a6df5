import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PUBLISHED } from './build.mjs'
import { median } from './figures.mjs'
import { withReceiver } from './running-receiver.mjs'

const RUNS = 41
const FORWARDER = fileURLToPath(new URL('hook.cjs', PUBLISHED))
const CPU_AT_EXIT = fileURLToPath(new URL('cpu-at-exit.cjs', import.meta.url))
const NODE = [process.execPath, '-r', CPU_AT_EXIT]
const PROGRAMS = {
  bare: [...NODE, '-e', '0'],
  ours: [...NODE, FORWARDER, 'claude-code'],
  light: ['/bin/sh', fileURLToPath(new URL('hook.sh', PUBLISHED)), process.execPath, 'claude-code'],
}
const EVENT = JSON.stringify({
  ...{ hook_event_name: 'PostToolUse', session_id: 's', tool_name: 'Bash', tool_use_id: 'c' },
  tool_response: { stdout: 'a line that a command has printed\n'.repeat(55) },
})

/** Milliseconds of one process, as an agent starts it and waits for its end. */
function millisOf([file, ...args], env) {
  const startedAt = performance.now()
  const stdio = ['pipe', 'ignore', 'inherit', 'pipe']
  const { status, output } = spawnSync(file, args, { env, stdio, input: EVENT })
  if (status !== 0) throw new Error(`${args.at(-1)} ended with ${status}`)
  return { wall: performance.now() - startedAt, cpu: Number(output[3]) / 1000 }
}

/** Cost of a hook command: Node's forwarder on top of Node itself, and the shell's in all. Fresh processes, alternating. */
export function forwarderCost() {
  return withReceiver(async receiver => {
    const { PATH } = process.env
    const env = { PATH, HOME: receiver.home, XDG_STATE_HOME: join(receiver.home, 'state') }
    const runs = { bare: [], ours: [], light: [] }
    for (let run = 0; run < RUNS; run++) {
      for (const [side, program] of Object.entries(PROGRAMS)) runs[side].push(millisOf(program, env))
    }
    const { deliveries } = (await receiver.rested()).counts
    if (deliveries !== 2 * RUNS) throw new Error(`${2 * RUNS} events were sent, ${deliveries} arrived`)
    const of = (side, what) => median(runs[side].map(each => each[what]))
    const added = what => of('ours', what) - of('bare', what)
    return {
      wallMillis: added('wall'),
      cpuMillis: added('cpu'),
      bareMillis: of('bare', 'wall'),
      lightMillis: of('light', 'wall'),
    }
  })
}
