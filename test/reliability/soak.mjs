// npm run soak: minutes of kills, outages and troubles with real processes and real sockets. `--write` puts the table into
// docs/reliability.md. Ends with 1 when something is lost that should not be.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BaseSequencer, startVitest } from 'vitest/node'

const HEAD = [
  'failure',
  'runs',
  'spans emitted',
  'delivered once',
  'repeated',
  'counted as lost',
  'no time to save',
  'lost',
  'open → crashed',
  'figures',
]
const SHOWN_PROBLEMS = 20
const PAGE = new URL('../../docs/reliability.md', import.meta.url)
/** Those first that are spoilt where the machine has no time for them; the kills take all that there is. */
const ORDER = ['outage', 'chaos', 'kill', 'processes', 'disk', 'large-log']

/** Where `.ci/run` reads what it came to: see scripts/test-counts.mjs. */
const COUNTS = process.env.HOOKSPAN_TEST_COUNTS

class InOrder extends BaseSequencer {
  async sort(files) {
    const placeOf = ({ moduleId }) => ORDER.indexOf(basename(moduleId, '.soak.ts'))
    return [...files].sort((one, other) => placeOf(one) - placeOf(other))
  }
}

/** Within six minutes in all. */
const OPTIONS = {
  config: false,
  watch: false,
  root: fileURLToPath(new URL('../..', import.meta.url)),
  include: ['test/reliability/soak/*.soak.ts'],
  testTimeout: 345_000,
  pool: 'forks',
  maxWorkers: 3,
  sequence: { sequencer: InOrder },
  reporters: ['dot', ...(COUNTS ? [['json', { outputFile: join(COUNTS, 'soak.json') }]] : [])],
}

const directory = mkdtempSync(join(tmpdir(), 'hookspan-soak-'))
const path = join(directory, 'rows.jsonl')
writeFileSync(path, '')
process.env.HOOKSPAN_SOAK_ROWS = path
const startedAt = performance.now()
const vitest = await startVitest('test', [], OPTIONS)
await vitest.close()
const rows = readFileSync(path, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map(line => JSON.parse(line))
  .sort((one, other) => one.place - other.place)
rmSync(directory, { recursive: true })

const cells = row => [
  row.what,
  row.runs,
  row.told,
  row.once,
  row.repeated,
  row.counted,
  row.unsaved,
  row.lost,
  row.crashed,
  row.figures,
]
const line = values => `| ${values.join(' | ')} |`
const table = [line(HEAD), line(HEAD.map(() => '---')), ...rows.map(row => line(cells(row)))].join('\n')
const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${process.versions.node}`
const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
const generated = `<!-- soak -->\nMeasured on ${machine}, in ${minutes} minutes, with \`npm run soak -- --write\`.\n\n${table}\n<!-- /soak -->`

console.log(generated)
for (const { what, problems } of rows) {
  if (problems.length > 0) console.log(`\n${what}\n${problems.slice(0, SHOWN_PROBLEMS).join('\n')}`)
}
if (process.argv.includes('--write')) {
  const page = readFileSync(PAGE, 'utf8')
  if (!page.includes('<!-- soak -->')) throw new Error('docs/reliability.md has no place for the table')
  writeFileSync(PAGE, page.replace(/<!-- soak -->[\s\S]*<!-- \/soak -->/, generated))
}
process.exitCode ||= rows.some(({ lost, problems }) => lost > 0 || problems.length > 0) ? 1 : 0
