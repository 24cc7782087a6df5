/**
 * What `npm test` has no time for: all that it takes a sample of, many more cases of each property, every scene of kills,
 * outages and full disks, the tests of the tools of tests, the examples that need packages of others, and the soak.
 *
 *     npm run test:deep                     ten minutes
 *     npm run test:deep -- test/tracker        those in a room, without the soak
 *     npm run test:deep -- --sequences 100000 --seed 4711
 *                                           only sequences of hook records: so many, from a seed (default: one by chance)
 *     npm run test:deep -- --writers 100000
 *                                           only comparisons of our spans with the SDK's, for sequences of spans and hooks
 */
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { countedAs } from './test-counts.mjs'

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))
/** The options that ask for many cases of a few properties, and their file. */
const PROPERTIES = {
  sequences: 'test/tracker/interleaving.property.test.ts',
  writers: 'test/delivery/pipeline/own-tracer.property.test.ts',
}
/** Sequences of one property in one process: all of a process stay in memory, and a failing one needs room to shrink. */
const AT_ONCE = 1000

const { values, positionals } = parseArgs({
  options: { sequences: { type: 'string' }, writers: { type: 'string' }, seed: { type: 'string' } },
  allowPositionals: true,
})
const counted = Object.keys(PROPERTIES).filter(name => values[name] !== undefined)
process.exitCode = counted.length === 0 ? everything() : counted.reduce((failed, name) => failed || manyCases(name), 0)

function everything() {
  const files = deepFiles().filter(file => positionals.every(place => file.startsWith(place)))
  const failed = vitest([...files, ...countedAs('deep')])
  const soak = () => run(process.execPath, ['test/reliability/soak.mjs'], { HOOKSPAN_SOAK_KILLS: '80' })
  return positionals.length > 0 ? failed : failed || examples() || soak()
}

/** The examples that need packages of others, which the live suite and that of backends install. They are counted there. */
function examples() {
  const env = { HOOKSPAN_TEST_COUNTS: '' }
  const node = (...args) => run(process.execPath, [...args, '--no-build', '-t', 'examples/'], env)
  const hosts = ['ai-sdk', 'openai-agents', 'claude-agent-sdk']
  return node('scripts/test-live.mjs', ...hosts) || node('scripts/test-backends.mjs', 'mcp')
}

/** Those that say more when there is time. */
function deepFiles() {
  const files = readdirSync(join(REPOSITORY, 'test'), { recursive: true }).map(file => join('test', file))
  const takesSamples = file =>
    /\/(sample|assert-holds|fast-check)\.ts'|everyFieldMayBeAnything/.test(readFileSync(join(REPOSITORY, file), 'utf8'))
  return files.filter(file => file.endsWith('.deep.ts') || (file.endsWith('.test.ts') && takesSamples(file)))
}

function manyCases(name) {
  const file = PROPERTIES[name]
  const properties = readFileSync(join(REPOSITORY, file), 'utf8').match(/await holds\(|fc\.assert\(/g).length
  const each = Math.ceil(Number(values[name]) / properties)
  const first = Number(values.seed ?? randomInt(2 ** 31))
  const plan = `${properties} properties of ${each} sequences each, from seed ${first}`
  console.log(plan)
  let failed = 0
  for (let done = 0; done < each && failed === 0; done += AT_ONCE) {
    const seed = String(first + done)
    const env = { PROPERTY_RUNS: String(Math.min(AT_ONCE, each - done)), PROPERTY_SEED: seed, HOOKSPAN_TEST_SEED: seed }
    failed = vitest([file], { ...env, HOOKSPAN_TEST_BUILD: '0' })
  }
  console.log(`${plan}: ${failed === 0 ? 'all hold' : 'failed'}`)
  return failed
}

function vitest(args, env = {}) {
  return run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args], { HOOKSPAN_TEST_DEEP: '1', ...env })
}

function run(program, args, env = {}) {
  return spawnSync(program, args, { cwd: REPOSITORY, env: { ...process.env, ...env }, stdio: 'inherit' }).status ?? 1
}
