import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Connection, requestOf } from './connection.mjs'
import { median } from './figures.mjs'
import { startProgram } from './own-process.mjs'
import { withReceiver } from './running-receiver.mjs'

const WARM_UP_TURNS = 30
const TURNS = 100
/** Between two hooks an agent works; that is not counted. */
const PAUSE_MILLIS = 15

/** What Claude Code sends by HTTP in a turn that was captured, with a model server that answers at once. */
const HOOKS = readFileSync(new URL('../test/fixtures/claude-code/tools.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map(line => JSON.parse(line))
  .filter(({ data }) => !['SessionStart', 'SessionEnd', undefined].includes(data?.hook_event_name))
const TURN_MILLIS = HOOKS.at(-1).at - HOOKS[0].at

/** Each turn has ids of its own. */
function requestsOf(turn, token) {
  return HOOKS.map(({ data }) => {
    const { tool_use_id } = data
    const own = { ...data, prompt_id: `prompt-${turn}`, ...(tool_use_id && { tool_use_id: `${tool_use_id}-${turn}` }) }
    return requestOf('/claude-code', JSON.stringify(own), token)
  })
}

/** Milliseconds that an agent waits for the hooks of a turn. */
async function waited(connection, requests) {
  let millis = 0
  for (const request of requests) {
    millis += await connection.ask(request)
    await pause(PAUSE_MILLIS)
  }
  return millis
}

/** What an agent waits for its hooks in a turn, with our receiver and with a hook that does nothing: in turn. */
export function claudeCodeCost() {
  return withReceiver(async receiver => {
    const noOp = startProgram('no-op-hook.mjs', {}, receiver.home)
    const [{ port }] = await once(noOp, 'message')
    const connections = { ours: await Connection.open(receiver.port), noOp: await Connection.open(port) }
    try {
      const turns = { ours: [], noOp: [] }
      for (let turn = -WARM_UP_TURNS; turn < TURNS; turn++) {
        const requests = requestsOf(turn, receiver.token)
        for (const [side, connection] of Object.entries(connections)) {
          const millis = await waited(connection, requests)
          if (turn >= 0) turns[side].push(millis)
        }
      }
      const [oursMillis, noOpMillis] = [median(turns.ours), median(turns.noOp)]
      const turnRatio = (TURN_MILLIS + oursMillis) / (TURN_MILLIS + noOpMillis)
      const captured = { hooks: HOOKS.length, turnMillis: TURN_MILLIS }
      return { ratio: oursMillis / noOpMillis, oursMillis, noOpMillis, turnRatio, ...captured }
    } finally {
      for (const connection of Object.values(connections)) connection.close()
      noOp.disconnect()
    }
  })
}
