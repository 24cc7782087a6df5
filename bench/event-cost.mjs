// What a log event costs, from the moment at which it happens until a backend has it.
import { load } from './build.mjs'
import { quantile } from './figures.mjs'
import { inScratch } from './own-process.mjs'
import { Sink } from './sink-process.mjs'

const { resolveConfig } = await load('plugin/config/resolve.js')
const { createPipeline } = await load('delivery/pipeline/index.js')
const { pipelineSettings } = await load('plugin/settings.js')
const ROUNDS = 41
/** As many as one request takes. */
const EVENTS = 500

const complain = line => {
  throw new Error(line)
}

function event(n) {
  return {
    name: 'hermes.tool.failed',
    severity: 'ERROR',
    at: 1_795_256_100_000 + n,
    span: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 },
    attributes: {
      'event.name': 'hermes.tool.failed',
      'hermes.session.id': 's1',
      'hermes.turn.id': `t${n}`,
      'gen_ai.tool.name': 'terminal',
      'error.type': 'timeout',
      'hermes.error.message': 'the command did not end within 30 seconds and was stopped',
    },
  }
}

/** Microseconds of an event: those in which the host waits, and the CPU time of all threads until it is delivered. */
export function eventCost() {
  return inScratch(async home => {
    const sink = await Sink.start(home)
    const backends = [{ type: 'otlp', endpoint: sink.url, metrics: false, logs: true }]
    const { config } = resolveConfig({ code: { local_log: false, backends }, env: {}, home })
    const report = { warn: complain, error: complain, debug() {} }
    const pipeline = createPipeline(pipelineSettings(config, {}, home), report)
    try {
      const rounds = []
      for (let round = 0; round < ROUNDS; round++) {
        const events = Array.from({ length: EVENTS }, (_, n) => event(n))
        const [cpu, started] = [process.cpuUsage(), process.hrtime.bigint()]
        for (const each of events) pipeline.log(each)
        const taken = Number(process.hrtime.bigint() - started) / 1000
        await pipeline.flush()
        const { user, system } = process.cpuUsage(cpu)
        rounds.push({ take: taken / EVENTS, cpu: (user + system) / EVENTS })
      }
      const [{ logs }] = pipeline.stats().backends
      if (logs.delivered !== ROUNDS * EVENTS) throw new Error(`${logs.delivered} of ${ROUNDS * EVENTS} events came`)
      const median = of => quantile(rounds.map(of), 0.5)
      return { takeMicros: median(({ take }) => take), cpuMicros: median(({ cpu }) => cpu) }
    } finally {
      await pipeline.shutdown()
      sink.stop()
    }
  })
}
