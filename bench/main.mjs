// npm run bench: figures as ratios in one run on one machine. `--write` puts them into docs/performance.md; with names of parts
// (`agent`, `receiver`) it makes the figures of these, and writes nothing.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { PUBLISHED } from './build.mjs'
import { oneDecimal, twoDecimals } from './figures.mjs'

if (!existsSync(new URL('index.js', PUBLISHED))) {
  console.error('bench: there is no build; run "npm run build" first')
  process.exit(1)
}
if (globalThis.gc === undefined) {
  const run = spawnSync(process.execPath, ['--expose-gc', ...process.argv.slice(1)], {
    stdio: 'inherit',
    env: { ...process.env, HOOKSPAN_LOCAL_LOG: 'false' },
  })
  process.exit(run.status ?? 1)
}

const mebi = bytes => `${oneDecimal(bytes / 1048576)} MiB`
const row = (what, measured, target) => `| ${what} | ${measured} | ${target} |`
const rows = []
const add = (...cells) => {
  rows.push(row(...cells))
  console.log(rows.at(-1))
}
/** What a reader takes home. */
let inShort

const PARTS = {
  agent: async () => {
    const { agentCost, inShort: ofAgent } = await import('./agent-cost.mjs')
    const agent = await agentCost()
    for (const [what, { ratio, oursMillis, bareMillis }, target] of [
      ['start: import of the Pi adapter and its first event', agent.start, '≤ 0.3 ×'],
      ['what the host waits in the first turn', agent.firstTurn, '≤ 1.0 ×'],
      ['in turns 2 to 20, each', agent.coldTurn, '≤ 1.0 ×'],
      ['in steady turns, each', agent.steadyTurn, '≤ 1.0 ×'],
      ['CPU of the process for a turn, log, delivery and metrics included', agent.cpu, '≤ 2.5 ×'],
    ]) {
      const millis = `${twoDecimals(oursMillis)} ms against ${twoDecimals(bareMillis)} ms`
      add(`agent: ${what}`, `${twoDecimals(ratio)} × (${millis})`, target)
    }
    inShort = ofAgent(agent)
  },
  core: async () => {
    const { turnCost } = await import('./turn-cost.mjs')
    const { hookLatency, largeResult } = await import('./hook-latency.mjs')
    const cost = turnCost()
    add(
      `cost of a turn (${cost.hooks} hooks, ${cost.spans} spans, ${cost.points} points) against the bare SDK doing the same`,
      `${twoDecimals(cost.ratio)} × (${oneDecimal(cost.oursMicros)} µs against ${oneDecimal(cost.bareMicros)} µs)`,
      '≤ 1.5 ×',
    )
    const latency = hookLatency()
    add(
      'one hook, preview capture',
      `p50 ${oneDecimal(latency.p50)} µs, p99 ${oneDecimal(latency.p99)} µs, p99.9 ${oneDecimal(latency.p999)} µs`,
      'p99 ≤ 100 µs',
    )
    const large = largeResult()
    add(
      'hook with a tool result of 1 MB: text, JSON text, value',
      ['text', 'json', 'value'].map(kind => `${twoDecimals(large[kind].median)} ms`).join(', '),
      '≤ 2 ms',
    )
  },
  import: async () => {
    const { importCost } = await import('./import-cost.mjs')
    const imported = importCost()
    add(
      'importing the package against importing the trace and metrics SDK',
      `${twoDecimals(imported.ratio)} × (${oneDecimal(imported.oursMillis)} ms against ${oneDecimal(imported.bareMillis)} ms); ${imported.exportersLoaded} SDK or exporter files loaded`,
      '≤ 1.25 ×',
    )
  },
  memory: async () => {
    const { openTurns, millionHooks } = await import('./memory.mjs')
    const open = openTurns()
    add(
      `heap after 10 000 turns were open at once (${open.spansOpen} spans), then closed`,
      `${twoDecimals(open.growth * 100)} % (${mebi(open.beforeBytes)} before, ${mebi(open.peakBytes)} at the most, ${mebi(open.afterBytes)} after)`,
      'within 5 %',
    )
    const million = millionHooks()
    add(
      'heap over a million hooks of rotating sessions, after each tenth',
      million.heaps.slice(1).map(mebi).join(', '),
      'no growth',
    )
  },
  log: async () => {
    const { logCost, loopDelay } = await import('./trace-log.mjs')
    const log = await logCost()
    const added = ({ share, onMicros, offMicros }) =>
      `${oneDecimal(share * 100)} % (${oneDecimal(onMicros)} µs against ${oneDecimal(offMicros)} µs)`
    add(
      "the trace log's share of a turn, until it is in the file: CPU time of all threads, busy host",
      `${added(log.busy.cpu)}; main thread ${oneDecimal(log.busy.main.share * 100)} %`,
      '≤ 20 %',
    )
    add(
      'the same when each turn is waited for before the next one',
      `${added(log.alone.cpu)}; main thread ${oneDecimal(log.alone.main.share * 100)} %`,
      '–',
    )
    for (const [spansPerSecond, target] of [
      [500, '–'],
      [2000, 'p99.9 ≤ 10 ms'],
    ]) {
      const { idle, told, delivered, cores, behindBytes } = await loopDelay(spansPerSecond)
      add(
        `event loop held while ${spansPerSecond} spans a second of 4 KB each are logged and delivered to two backends`,
        `p99 ${oneDecimal(delivered.p99)} ms, p99.9 ${oneDecimal(delivered.p999)} ms (hooks alone ${oneDecimal(told.p999)} ms, nothing at all ${oneDecimal(idle.p999)} ms); ${twoDecimals(cores)} of a core, ${mebi(behindBytes)} behind`,
        target,
      )
    }
  },
  adapters: async () => {
    const { adapterCost } = await import('./adapter-cost.mjs')
    for (const { host, share, microsPerEvent, eventsPerRecord } of adapterCost()) {
      add(
        `reading the events of ${host}, against the core's work on the hook records that come of them`,
        `${oneDecimal(share * 100)} % (${twoDecimals(microsPerEvent)} µs an event, ${oneDecimal(eventsPerRecord)} events a record)`,
        '≤ 25 %',
      )
    }
  },
  recovery: async () => {
    const { logRecovery } = await import('./trace-log.mjs')
    const left = await logRecovery()
    for (const protocol of ['http/json', 'http/protobuf']) {
      const { millis, moreBytes, peakBytes, p999 } = left[protocol]
      add(
        `a log of ${mebi(left.bytes)} (${left.spans} spans) that a killed process has left, delivered over ${protocol}`,
        `${oneDecimal(millis / 1000)} s, ${mebi(moreBytes)} more than with nothing to do (${mebi(peakBytes)} in all), event loop held p99.9 ${oneDecimal(p999)} ms`,
        '≤ 15 s, ≤ 150 MB',
      )
    }
  },
  receiver: async () => {
    const { receiverCost } = await import('./receiver-cost.mjs')
    const { oneByOne, lines, p50, p99, idle, worked } = await receiverCost()
    add(
      'receiver: events of 2 KB for each second of CPU time of its process, recorded and in the trace log',
      `${Math.round(oneByOne)} in a request each, ${Math.round(lines)} a hundred lines in a request`,
      '≥ 10 000',
    )
    add(
      'receiver: until an event is answered, at 1000 a second',
      `p50 ${twoDecimals(p50)} ms, p99 ${twoDecimals(p99)} ms`,
      'p99 ≤ 5 ms',
    )
    add(
      'receiver: with nothing to do',
      `${mebi(idle.bytes)}, ${oneDecimal(idle.cpuMillis)} ms of CPU in ${idle.seconds} s (${mebi(worked.bytes)} behind ${worked.events} events)`,
      '≤ 60 MB, none',
    )
  },
  forwarder: async () => {
    const { forwarderCost } = await import('./forwarder-cost.mjs')
    const { wallMillis, cpuMillis, bareMillis, lightMillis } = await forwarderCost()
    add(
      'forwarder: a hook that is a command, on top of Node itself',
      `${oneDecimal(wallMillis)} ms (Node ${oneDecimal(bareMillis)} ms); CPU ${oneDecimal(cpuMillis)} ms`,
      '≤ 15 ms',
    )
    add('forwarder: the hook command of an agent, by curl, in all', `${oneDecimal(lightMillis)} ms`, '≤ 25 ms')
  },
  'claude-code': async () => {
    const { claudeCodeCost } = await import('./claude-code-cost.mjs')
    const { ratio, oursMillis, noOpMillis, turnRatio, hooks, turnMillis } = await claudeCodeCost()
    add(
      `a turn of Claude Code (${turnMillis} ms) with its ${hooks} hooks, against an HTTP hook that does nothing`,
      `${twoDecimals(turnRatio)} ×; the waiting for the hooks alone ${twoDecimals(ratio)} × (${twoDecimals(oursMillis)} ms against ${twoDecimals(noOpMillis)} ms)`,
      '≤ 1.3 ×',
    )
  },
  'control-hooks': async () => {
    const { controlHookCost } = await import('./control-hooks.mjs')
    const [none, ten] = [0, 10].map(controlHookCost)
    add(
      'hooks that act: a phase that no hook looks at, and one of ten hooks that pass',
      `${twoDecimals(none)} µs, ${twoDecimals(ten)} µs`,
      'nothing, ≤ 5 µs',
    )
  },
  cost: async () => {
    const { requestCost } = await import('./request-cost.mjs')
    const { loadMillis, firstMicros, furtherMicros } = requestCost()
    add(
      "what a request cost: the first of a model, each further one; once, the list's loading",
      `${Math.round(firstMicros)} µs, ${twoDecimals(furtherMicros)} µs; ${Math.round(loadMillis)} ms`,
      'a request ≤ 2 µs',
    )
  },
  keep: async () => {
    const { keepCost } = await import('./keep-cost.mjs')
    const { spanBytes, freeMicros, heldMicros } = keepCost()
    add(
      'traces that are held until they are judged: heap for each span that is held; a turn, against one that nobody holds',
      `${oneDecimal(spanBytes / 1024)} KiB; ${twoDecimals(heldMicros / freeMicros)} × (${oneDecimal(heldMicros)} µs against ${oneDecimal(freeMicros)} µs)`,
      '–',
    )
  },
  logs: async () => {
    const { eventCost } = await import('./event-cost.mjs')
    const { cpuMicros, takeMicros } = await eventCost()
    add(
      'log events: what the host waits for each, and CPU until it is delivered',
      `${twoDecimals(takeMicros)} µs, ${oneDecimal(cpuMicros)} µs`,
      '–',
    )
  },
  index: async () => {
    const { indexCost } = await import('./index-cost.mjs')
    const { bytes, fresh, again } = await indexCost()
    const seconds = millis => `${oneDecimal(millis / 1000)} s`
    add(
      `the viewer's index of a log of ${mebi(bytes)} (${fresh.spanCount} spans): until the newest turn is there, all is listed`,
      [fresh.newestMillis, fresh.indexedMillis].map(seconds).join(', '),
      'the newest ≤ 3 s',
    )
    add('the same, opened again', seconds(again.newestMillis), '≤ 1 s')
    const questions = Object.entries(again.asked).map(([name, { median }]) => `${name} ${oneDecimal(median)} ms`)
    add('the same, asked', questions.join(', '), 'a search ≤ 300 ms')
    const sizes = [fresh.peakBytes, again.peakBytes, fresh.keptBytes].map(mebi)
    add('the same, memory while it is made and when it is opened again, size', sizes.join(', '), '≤ 300 MB')
  },
}

const asked = process.argv.slice(2).filter(each => each !== '--write')
const unknown = asked.filter(name => !Object.hasOwn(PARTS, name))
if (unknown.length > 0) {
  console.error(`bench: there is no part ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}`)
  process.exit(1)
}
console.log('| what | measured | target |\n|---|---|---|')
for (const name of asked.length > 0 ? asked : Object.keys(PARTS)) await PARTS[name]()

if (process.argv.includes('--write') && asked.length === 0) {
  const path = new URL('../docs/performance.md', import.meta.url)
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${process.versions.node}`
  const table = ['| what | measured | target |', '|---|---|---|', ...rows].join('\n')
  const measured = `Measured on ${machine}, with \`npm run bench -- --write\`.`
  const generated = `<!-- figures -->\n${inShort}\n\n${measured}\n\n${table}\n<!-- /figures -->`
  writeFileSync(path, readFileSync(path, 'utf8').replace(/<!-- figures -->[\s\S]*<!-- \/figures -->/, generated))
}
