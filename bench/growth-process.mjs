// How the cost of an item grows with their number, until all spans are in the trace log. Prints one JSON object.
import { setImmediate as loopTurn } from 'node:timers/promises'
import { load } from './build.mjs'
import { median } from './figures.mjs'

const { createPlugin } = await load('index.js')
const ROUNDS = 3
const WARM_UP = 1
/** A host with much to do lets the event loop turn after so many hooks. */
const HOOKS_AT_ONCE = 20
const MESSAGE = 'The login test compares seconds with milliseconds since the change of yesterday. '.repeat(13)
const model = 'claude-sonnet-4-6'
let ordinal = 0

const idsOf = kind => ({ session_id: `${kind}${++ordinal}`, turn_id: `t${ordinal}` })

function* toolTurn(tools) {
  const ids = idsOf('tools')
  yield ['pre_llm_call', { ...ids, model, user_message: 'hello' }]
  for (let n = 0; n < tools; n++) {
    const call = { ...ids, tool_name: 'terminal', tool_call_id: `c${n}` }
    yield ['pre_tool_call', { ...call, args: { command: `npm test -- ${n}` } }]
    yield ['post_tool_call', { ...call, status: 'ok', result: `passed in ${n} ms` }]
  }
  yield ['on_session_end', { ...ids, completed: true }]
}

function* openTurns(count) {
  const turns = Array.from({ length: count }, () => idsOf('turns'))
  for (const ids of turns) yield ['pre_llm_call', { ...ids, model, user_message: 'hello' }]
  for (const ids of turns) yield ['on_session_end', { ...ids, completed: true }]
}

/** Each request sends all messages so far. */
function* conversation(count) {
  const ids = idsOf('messages')
  const messages = []
  yield ['pre_llm_call', { ...ids, model, user_message: 'hello' }]
  for (let n = 0; n < count; n++) {
    messages.push({ role: n % 2 === 0 ? 'user' : 'assistant', content: `${n} ${MESSAGE}`.slice(0, 1024) })
    const request = { ...ids, model, provider: 'anthropic', api_request_id: `${ids.turn_id}.r${n}` }
    yield ['pre_api_request', { ...request, message_count: messages.length, request_messages: messages }]
    yield ['post_api_request', { ...request, finish_reason: 'stop' }]
  }
  yield ['on_session_end', { ...ids, completed: true }]
}

/** Microseconds of CPU time of all threads for each of `count` items, in groups of `size`. */
async function microsOf(plugin, groupOf, size, count) {
  globalThis.gc()
  const before = process.cpuUsage()
  let hooks = 0
  for (let done = 0; done < count; done += size) {
    for (const [hook, payload] of groupOf(size)) {
      void plugin.on(hook, payload)
      if (++hooks % HOOKS_AT_ONCE === 0) await loopTurn()
    }
  }
  await plugin.flush()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

/** Medians of a tenth of the size and of the size itself, alternating. */
async function growth(content_capture, groupOf, size) {
  const plugin = createPlugin({ host: 'bench', content_capture, local_log: true })
  const rounds = []
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const small = await microsOf(plugin, groupOf, size / 10, size)
    const large = await microsOf(plugin, groupOf, size, size)
    if (round >= 0) rounds.push({ small, large })
  }
  await plugin.shutdown()
  return { small: median(rounds.map(({ small }) => small)), large: median(rounds.map(({ large }) => large)) }
}

process.stdout.write(
  JSON.stringify({
    tools: await growth('preview', toolTurn, 1000),
    openTurns: await growth('preview', openTurns, 10_000),
    preview: await growth('preview', conversation, 500),
    full: await growth('full', conversation, 500),
  }),
)
