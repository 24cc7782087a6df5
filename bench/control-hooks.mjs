import { load } from './build.mjs'
import { quantile } from './figures.mjs'

const { createHooks, runHooks, toolCallOf } = await load('guards/index.js')
const ROUNDS = 21
const CALLS = 20_000
const EVENT = { tool: toolCallOf({ name: 'Bash', arguments: { command: 'ls -la', description: 'list the folder' } }) }

/** Microseconds of a phase with so many hooks that pass: asked as an adapter asks, which makes no event for nobody. */
export function controlHookCost(count) {
  const passing = Array.from({ length: count }, (_, n) => ({ name: `hook-${n}`, beforeTool: () => undefined }))
  const hooks = runHooks(createHooks(passing), { host: 'bench' })
  const ids = { sessionId: 's', turnId: 't', toolCallId: 'c' }
  const micros = Array.from({ length: ROUNDS }, () => {
    const started = process.hrtime.bigint()
    for (let n = 0; n < CALLS; n++) if (hooks.handles('beforeTool')) hooks.run('beforeTool', ids, EVENT)
    return Number(process.hrtime.bigint() - started) / 1000 / CALLS
  })
  return quantile(micros, 0.5)
}
