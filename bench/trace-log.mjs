import { once } from 'node:events'
import { cpSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { answerOf, inScratch, startProgram } from './own-process.mjs'
import { Sink } from './sink-process.mjs'

const LOAD_MILLIS = 20_000
const PROTOCOLS = ['http/json', 'http/protobuf']
const LEFT_BYTES = 100_000_000
/** As long as a process with nothing to do is given, before its memory is read. */
const QUIET_MILLIS = 3000

/** What the trace log adds to a turn: see `log-cost.mjs`. */
export function logCost() {
  return inScratch(home => answerOf('log-cost.mjs', {}, home, '--expose-gc'))
}

/** Milliseconds that the event loop is held, beyond what the looking itself takes: see `loop-delay.mjs`. */
export function loopDelay(spansPerSecond) {
  return inScratch(async home => {
    const sinks = await Promise.all(PROTOCOLS.map(() => Sink.start(home)))
    try {
      const backends = sinks.map(({ url }, n) => backendAt(url, PROTOCOLS[n], `backend-${n}`))
      const given = { backends, spansPerSecond, millis: LOAD_MILLIS }
      const { idle, told, delivered, complaints } = await answerOf('loop-delay.mjs', given, home)
      const { jsonSpans } = await sinks[0].counts()
      if (jsonSpans !== delivered.spans) {
        throw new Error(`${delivered.spans} spans were told, ${jsonSpans} came: ${complaints}`)
      }
      const beyond = delay => ({ p99: delay.p99 - idle.p50, p999: delay.p999 - idle.p50, max: delay.max - idle.p50 })
      const { cores, behindBytes } = delivered
      return { idle: beyond(idle), told: beyond(told), delivered: beyond(delivered), cores, behindBytes }
    } finally {
      for (const sink of sinks) sink.stop()
    }
  })
}

/** A log that a killed process has left: how long until it is delivered, and with how much memory. */
export function logRecovery() {
  return inScratch(async home => {
    const left = await leftBehind(home)
    const figures = { bytes: left.bytes, spans: left.ended + left.open }
    for (const protocol of PROTOCOLS) figures[protocol] = await recovery(home, protocol, figures)
    return figures
  })
}

async function recovery(home, protocol, { spans }) {
  const sink = await Sink.start(home)
  try {
    const at = join(home, protocol)
    const given = { backends: [backendAt(sink.url, protocol)], spans: 0, livesMillis: QUIET_MILLIS }
    const quiet = await answerOf('log-recovery.mjs', given, join(at, 'quiet'))
    cpSync(join(home, 'state'), join(at, 'state'), { recursive: true, preserveTimestamps: true })
    const busy = await answerOf('log-recovery.mjs', { ...given, spans }, at)
    const { jsonSpans } = await sink.counts()
    const arrived = protocol === 'http/json' ? jsonSpans - 2 : spans
    if (busy.recovered !== spans || arrived !== spans) {
      const { recovered, complaints } = busy
      throw new Error(`${spans} spans were left, ${recovered} were delivered, ${arrived} came: ${complaints}`)
    }
    return { ...busy, moreBytes: busy.peakBytes - quiet.peakBytes }
  } finally {
    sink.stop()
  }
}

async function leftBehind(home) {
  const dead = createServer().listen(0, '127.0.0.1')
  await once(dead, 'listening')
  const { port } = dead.address()
  dead.close()
  const given = { backends: [backendAt(`http://127.0.0.1:${port}`, 'http/json')], bytes: LEFT_BYTES }
  const child = startProgram('log-fill.mjs', given, home)
  const ended = once(child, 'close')
  const [left] = await Promise.race([once(child, 'message'), ended.then(() => [undefined])])
  await ended
  if (left === undefined) throw new Error('log-fill.mjs has left nothing')
  return left
}

/** By its name a backend finds again what it is owed. */
function backendAt(endpoint, protocol, name = 'one') {
  return { type: 'otlp', name, endpoint, protocol }
}
