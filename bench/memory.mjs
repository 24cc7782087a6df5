import { load } from './build.mjs'
import { sdk } from './providers.mjs'
import { turnRecords } from './turn.mjs'

const { createPlugin } = await load('index.js')
const AT = 1_795_256_100_000
const OPEN_TURNS = 10_000
const TTL = 600_000

function heapBytes() {
  for (let n = 0; n < 4; n++) globalThis.gc()
  return process.memoryUsage().heapUsed
}

function plugin() {
  const { tracerProvider, meterProvider } = sdk()
  return createPlugin({ host: 'bench', tracerProvider, meterProvider })
}

function openAndClose(target, round) {
  const at = AT + round * 10 * TTL
  for (let n = 0; n < OPEN_TURNS; n++) {
    const ids = { session_id: `s${round}-${n}`, turn_id: `t${round}-${n}` }
    target.on('on_session_start', { ...ids, model: 'm' }, { at })
    target.on('pre_llm_call', { ...ids, model: 'm', user_message: 'hello' }, { at: at + 1 })
    target.on('pre_api_request', { ...ids, model: 'm', api_request_id: `r${round}-${n}` }, { at: at + 2 })
    for (const call of ['a', 'b'])
      target.on('pre_tool_call', { ...ids, tool_name: 'x', tool_call_id: call, args: {} }, { at: at + 3 })
  }
  const { spansOpen } = target.stats()
  const peak = process.memoryUsage().heapUsed
  for (let n = 0; n < OPEN_TURNS; n++) {
    target.on(
      'on_session_end',
      { session_id: `s${round}-${n}`, turn_id: `t${round}-${n}`, completed: true },
      { at: at + 10 },
    )
  }
  // A later record sweeps what is remembered of turns that are over.
  target.on('on_session_finalize', { session_id: 'nobody' }, { at: at + 5 * TTL })
  return { spansOpen, peak }
}

/** Heap before and after ten thousand turns were open at once, with five open spans each. */
export function openTurns() {
  const target = plugin()
  openAndClose(target, 0)
  openAndClose(target, 1)
  const before = heapBytes()
  const { spansOpen, peak } = openAndClose(target, 2)
  const after = heapBytes()
  return { spansOpen, beforeBytes: before, peakBytes: peak, afterBytes: after, growth: after / before - 1 }
}

/** Heap over a million hooks of ever new sessions, a tenth at a time. */
export function millionHooks() {
  const target = plugin()
  const heaps = []
  let hooks = 0
  let turn = 0
  for (let tenth = 0; tenth <= 10; tenth++) {
    const until = tenth * 100_000
    while (hooks < until) {
      const at = AT + turn * 20_000
      for (const { hook, payload, meta } of turnRecords(`s${turn >> 2}`, `t${turn}`, at)) {
        target.on(hook, payload, meta)
        hooks += 1
      }
      turn += 1
    }
    heaps.push(heapBytes())
  }
  return { hooks, heaps }
}
