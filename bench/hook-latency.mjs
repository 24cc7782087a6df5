import { load } from './build.mjs'
import { quantile } from './figures.mjs'
import { sdk } from './providers.mjs'
import { turnRecords } from './turn.mjs'

const { createPlugin } = await load('index.js')
const WARM_UP = 2000
const TURNS = 4000
const AT = 1_795_256_100_000

/** Microseconds of a single hook with preview capture. */
export function hookLatency() {
  const { tracerProvider, meterProvider } = sdk()
  const plugin = createPlugin({ host: 'bench', tracerProvider, meterProvider })
  const micros = []
  for (let turn = 0; turn < WARM_UP + TURNS; turn++) {
    for (const { hook, payload, meta } of turnRecords(`s${turn}`, `t${turn}`, AT)) {
      const started = process.hrtime.bigint()
      plugin.on(hook, payload, meta)
      if (turn >= WARM_UP) micros.push(Number(process.hrtime.bigint() - started) / 1000)
    }
  }
  return {
    p50: quantile(micros, 0.5),
    p99: quantile(micros, 0.99),
    p999: quantile(micros, 0.999),
    max: Math.max(...micros.slice(-50_000)),
  }
}

/** Milliseconds of the hook that brings a tool result of 1 MB, as JSON text and as a value. */
export function largeResult() {
  const { tracerProvider, meterProvider } = sdk()
  const plugin = createPlugin({ host: 'bench', tracerProvider, meterProvider })
  const line = 'a line of a log that somebody has printed, with token=abc and numbers 1234567890\n'
  const text = line.repeat(Math.ceil(1_000_000 / line.length))
  const value = { lines: text.split('\n') }
  const measure = result => {
    const millis = []
    for (let n = 0; n < 60; n++) {
      const call = { session_id: 's', turn_id: 't', tool_call_id: `c${n}`, tool_name: 'terminal' }
      plugin.on('pre_tool_call', { ...call, args: {} }, { at: AT + n })
      const started = process.hrtime.bigint()
      plugin.on('post_tool_call', { ...call, result, status: 'ok' }, { at: AT + n + 1 })
      if (n >= 10) millis.push(Number(process.hrtime.bigint() - started) / 1e6)
    }
    return { median: quantile(millis, 0.5), max: Math.max(...millis) }
  }
  return { text: measure(text), json: measure(JSON.stringify(value)), value: measure(value) }
}
