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
/** Figures of the headline. */
let agent
let firstTurn

function addComparison(what, { ratio, oursMillis, bareMillis }, target) {
  const millis = `${twoDecimals(oursMillis)} ms against ${twoDecimals(bareMillis)} ms`
  add(`agent: ${what}`, `${twoDecimals(ratio)} × (${millis})`, target)
}

const PARTS = {
  agent: async () => {
    const { agentCost } = await import('./agent-cost.mjs')
    agent = await agentCost()
    addComparison('start: import of the Pi adapter and its first event', agent.start, '≤ 0.15 ×')
    addComparison('wait of the host in the first turn', agent.firstTurn, '≤ 0.5 ×')
    addComparison('wait in each of turns 2 to 20', agent.coldTurn, '≤ 0.7 ×')
    addComparison('wait in each later turn', agent.steadyTurn, '≤ 0.7 ×')
    addComparison('CPU time of the process per turn, with log, delivery and metrics', agent.cpu, '≤ 2.5 ×')
  },
  'first-turn': async () => {
    const { firstTurnCost } = await import('./agent-cost.mjs')
    firstTurn = await firstTurnCost()
    const { wait, cpu, turnMillis, longer } = firstTurn
    addComparison('wait in the first turn without event-loop turns between its events', wait, '≤ 1.0 ×')
    addComparison('CPU time of the start and this turn, until it is delivered', cpu, '–')
    add(
      `agent: how much longer a first turn of ${Math.round(turnMillis)} ms takes`,
      `${oneDecimal(longer.oursMillis)} ms (hand-written adapter ${oneDecimal(longer.bareMillis)} ms)`,
      '≤ 15 ms',
    )
  },
  core: async () => {
    const { turnCost } = await import('./turn-cost.mjs')
    const { hookLatency, largeResult } = await import('./hook-latency.mjs')
    const cost = turnCost()
    add(
      `cost of a turn (${cost.hooks} hooks, ${cost.spans} spans, ${cost.points} points), written as OTLP/JSON, against the bare SDK with the same spans and points, which writes nothing: CPU time`,
      `${twoDecimals(cost.ratio)} × (${oneDecimal(cost.oursMicros)} µs against ${oneDecimal(cost.bareMicros)} µs); without writing ${twoDecimals(cost.recordingRatio)} ×`,
      '≤ 1.0 ×',
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
  growth: async () => {
    const { answerOf, inScratch } = await import('./own-process.mjs')
    const growth = await inScratch(home => answerOf('growth-process.mjs', {}, home, '--expose-gc'))
    const { tools, openTurns, preview, full } = growth
    const micros = ({ small, large }) =>
      `${oneDecimal(small)} µs, ${oneDecimal(large)} µs (${twoDecimals(large / small)} ×)`
    add('growth: CPU time per tool in a turn of 100, of 1 000', micros(tools), 'linear: 1.0 ×')
    add('growth: CPU time per turn while 1 000, 10 000 are open', micros(openTurns), 'linear: 1.0 ×')
    add(
      'growth: CPU time per request in a conversation of 50, of 500 messages, `content_capture: full`',
      `${micros(full)}; with \`preview\` ${micros(preview)}`,
      'linear; ≤ 3 × of `preview`',
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
      `${twoDecimals(open.growth * 100)} % (${mebi(open.beforeBytes)} before, ${mebi(open.peakBytes)} at most, ${mebi(open.afterBytes)} after)`,
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
      '≤ 12 %',
    )
    add(
      'the same, each turn awaited before the next one',
      `${added(log.alone.cpu)}; main thread ${oneDecimal(log.alone.main.share * 100)} %`,
      '–',
    )
    for (const [spansPerSecond, target] of [
      [500, '–'],
      [2000, 'p99.9 ≤ 5 ms'],
    ]) {
      const { idle, told, delivered, cores, behindBytes } = await loopDelay(spansPerSecond)
      add(
        `event loop delay while ${spansPerSecond} spans a second of 4 KB each are logged and delivered to two backends`,
        `p99 ${oneDecimal(delivered.p99)} ms, p99.9 ${oneDecimal(delivered.p999)} ms (hooks only ${oneDecimal(told.p999)} ms, idle ${oneDecimal(idle.p999)} ms); ${twoDecimals(cores)} of a core, ${mebi(behindBytes)} behind`,
        target,
      )
    }
  },
  adapters: async () => {
    const { adapterCost } = await import('./adapter-cost.mjs')
    for (const { host, share, microsPerEvent, eventsPerRecord } of adapterCost()) {
      add(
        `reading the events of ${host}, against processing the resulting hook records`,
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
        `a log of ${mebi(left.bytes)} (${left.spans} spans) left by a killed process, delivered over ${protocol}`,
        `${oneDecimal(millis / 1000)} s, ${mebi(moreBytes)} more than when idle (${mebi(peakBytes)} in all), event loop delay p99.9 ${oneDecimal(p999)} ms`,
        '≤ 1.2 s, ≤ 150 MB',
      )
    }
  },
  receiver: async () => {
    const { receiverCost } = await import('./receiver-cost.mjs')
    const { oneByOne, lines, p50, p99, idle, worked } = await receiverCost()
    add(
      'receiver: events of 2 KB per second of CPU time, until they are in the trace log',
      `${Math.round(oneByOne)} one per request, ${Math.round(lines)} a hundred per request`,
      '≥ 10 000',
    )
    add(
      'receiver: response time at 1000 events a second',
      `p50 ${twoDecimals(p50)} ms, p99 ${twoDecimals(p99)} ms`,
      'p99 ≤ 5 ms',
    )
    add(
      'receiver: idle',
      `${mebi(idle.bytes)}, ${oneDecimal(idle.cpuMillis)} ms of CPU in ${idle.seconds} s (${mebi(worked.bytes)} after ${worked.events} events)`,
      '≤ 60 MB, none',
    )
  },
  forwarder: async () => {
    const { forwarderCost } = await import('./forwarder-cost.mjs')
    const { wallMillis, cpuMillis, bareMillis, lightMillis } = await forwarderCost()
    add(
      'forwarder: a hook run as a command, in addition to Node itself',
      `${oneDecimal(wallMillis)} ms (Node ${oneDecimal(bareMillis)} ms); CPU ${oneDecimal(cpuMillis)} ms`,
      '≤ 15 ms',
    )
    add('forwarder: a hook command that posts with `curl`, in all', `${oneDecimal(lightMillis)} ms`, '≤ 25 ms')
  },
  'claude-code': async () => {
    const { claudeCodeCost } = await import('./claude-code-cost.mjs')
    const { ratio, oursMillis, noOpMillis, turnRatio, hooks, turnMillis } = await claudeCodeCost()
    add(
      `a turn of Claude Code (${turnMillis} ms) with its ${hooks} hooks, against an HTTP hook that does nothing`,
      `${twoDecimals(turnRatio)} ×; the hooks alone ${twoDecimals(ratio)} × (${twoDecimals(oursMillis)} ms against ${twoDecimals(noOpMillis)} ms)`,
      '≤ 1.3 ×',
    )
  },
  'control-hooks': async () => {
    const { controlHookCost } = await import('./control-hooks.mjs')
    const [none, ten] = [0, 10].map(controlHookCost)
    add(
      'guards: a phase without guards, a phase with ten guards that pass',
      `${twoDecimals(none)} µs, ${twoDecimals(ten)} µs`,
      'nothing, ≤ 5 µs',
    )
  },
  cost: async () => {
    const { requestCost } = await import('./request-cost.mjs')
    const { loadMillis, firstMicros, furtherMicros } = requestCost()
    add(
      'cost of requests: the first request of a model, each further one; once, loading the list',
      `${Math.round(firstMicros)} µs, ${twoDecimals(furtherMicros)} µs; ${Math.round(loadMillis)} ms`,
      'a request ≤ 2 µs',
    )
  },
  keep: async () => {
    const { keepCost } = await import('./keep-cost.mjs')
    const { spanBytes, freeMicros, heldMicros } = keepCost()
    add(
      'tail sampling: heap per buffered span; a turn, against one without buffering',
      `${oneDecimal(spanBytes / 1024)} KiB; ${twoDecimals(heldMicros / freeMicros)} × (${oneDecimal(heldMicros)} µs against ${oneDecimal(freeMicros)} µs)`,
      '–',
    )
  },
  logs: async () => {
    const { eventCost } = await import('./event-cost.mjs')
    const { cpuMicros, takeMicros } = await eventCost()
    add(
      'log events: wait of the host for each, and CPU time until it is delivered',
      `${twoDecimals(takeMicros)} µs, ${oneDecimal(cpuMicros)} µs`,
      '–',
    )
  },
  index: async () => {
    const { indexCost } = await import('./index-cost.mjs')
    const { bytes, fresh, again } = await indexCost()
    const seconds = millis => `${oneDecimal(millis / 1000)} s`
    add(
      `the viewer's index of a log of ${mebi(bytes)} (${fresh.spanCount} spans): until the newest turn is listed, until everything is listed`,
      [fresh.newestMillis, fresh.indexedMillis].map(seconds).join(', '),
      'the newest ≤ 3 s',
    )
    add('the same, reopened from its snapshot', seconds(again.newestMillis), '≤ 1 s')
    const questions = Object.entries(again.asked).map(([name, { median }]) => `${name} ${oneDecimal(median)} ms`)
    add('the same, queries', questions.join(', '), 'a search ≤ 300 ms')
    const sizes = [fresh.peakBytes, again.peakBytes, fresh.keptBytes].map(mebi)
    add('the same, memory of the process while built, reopened; size of the index', sizes.join(', '), '≤ 300 MB')
  },
  viewer: async () => {
    const { viewerCost } = await import('./viewer-cost.mjs')
    const { spans, bytes, cold, warmMillis, opened, gzipBytes } = await viewerCost()
    const seconds = millis => `${twoDecimals(millis / 1000)} s`
    const { firstMillis, listed, searchedMillis } = cold
    add(
      `viewer: a log of ${spans} spans (${mebi(bytes)}) without an index, from the command to the first rows, all listed, searchable`,
      `${[firstMillis, listed.millis, searchedMillis].map(seconds).join(', ')} (CPU ${seconds(listed.cpuMillis)})`,
      '≤ 1.5 s, ≤ 10 s, ≤ 25 s',
    )
    add('the same with an index, to the first rows', seconds(warmMillis), '≤ 0.7 s')
    const opening = ({ millis, mostMillis, cpuMillis }) =>
      `${seconds(millis)}, at most ${seconds(mostMillis)} (CPU of the browser ${seconds(cpuMillis)})`
    const inBrowser = show => (opened === undefined ? 'no browser on this machine' : show(opened))
    add(
      'viewer: opening a turn of 5 000 spans',
      inBrowser(({ turn }) => opening(turn)),
      '≤ 1 s',
    )
    add(
      'viewer: zooming in it, between two frames',
      inBrowser(
        ({ zoom }) =>
          `p50 ${oneDecimal(zoom.p50)} ms, p95 ${oneDecimal(zoom.p95)} ms (CPU of the browser ${oneDecimal(zoom.cpuMillis)} ms)`,
      ),
      'p95 ≤ 20 ms',
    )
    add(
      'viewer: opening a transcript of 500 turns',
      inBrowser(({ talk }) => opening(talk)),
      '≤ 1 s',
    )
    const memory = ({ peakBytes, bytes }) => `${mebi(peakBytes)}, ${mebi(bytes)} afterwards`
    add(
      'viewer: memory of the process at most, without an index; with one, for the pages above',
      `${memory(cold)}; ${inBrowser(memory)}`,
      '≤ 150 MB',
    )
    add(
      'viewer: the page, gzip; its requests to other hosts',
      `${oneDecimal(gzipBytes / 1000)} KB; ${inBrowser(({ elsewhere }) => elsewhere)}`,
      '≤ 160 KB; none',
    )
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
  const { inShort } = await import('./agent-cost.mjs')
  const generated = `<!-- figures -->\n${inShort(agent, firstTurn)}\n\n${measured}\n\n${table}\n<!-- /figures -->`
  writeFileSync(path, readFileSync(path, 'utf8').replace(/<!-- figures -->[\s\S]*<!-- \/figures -->/, generated))
}
