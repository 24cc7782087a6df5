// npm run bench: figures as ratios in one run on one machine. `--write` puts them into docs/performance.md.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { oneDecimal, twoDecimals } from './figures.mjs'

if (!existsSync(new URL('../dist/index.js', import.meta.url))) {
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

const { turnCost } = await import('./turn-cost.mjs')
const { hookLatency, largeResult } = await import('./hook-latency.mjs')
const { importCost } = await import('./import-cost.mjs')
const { openTurns, millionHooks } = await import('./memory.mjs')

const mebi = bytes => `${oneDecimal(bytes / 1048576)} MiB`
const row = (what, measured, target) => `| ${what} | ${measured} | ${target} |`
const rows = []
const add = (...cells) => {
  rows.push(row(...cells))
  console.log(rows.at(-1))
}

console.log('| what | measured | target |\n|---|---|---|')
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
const imported = importCost()
add(
  'importing the package against importing the trace and metrics SDK',
  `${twoDecimals(imported.ratio)} × (${oneDecimal(imported.oursMillis)} ms against ${oneDecimal(imported.bareMillis)} ms); ${imported.exportersLoaded} SDK or exporter files loaded`,
  '≤ 1.25 ×',
)
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

if (process.argv.includes('--write')) {
  const path = new URL('../docs/performance.md', import.meta.url)
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${process.versions.node}`
  const table = ['| what | measured | target |', '|---|---|---|', ...rows].join('\n')
  const generated = `<!-- figures -->\nMeasured on ${machine}, with \`npm run bench -- --write\`.\n\n${table}\n<!-- /figures -->`
  writeFileSync(path, readFileSync(path, 'utf8').replace(/<!-- figures -->[\s\S]*<!-- \/figures -->/, generated))
}
