/**
 * The property tests of the core with far more sequences of hook records than `npm test` has time for, from another seed
 * each time:
 *
 *     npm run test:deep                  100 000 sequences: half an hour to an hour
 *     npm run test:deep -- 5000          so many
 *     npm run test:deep -- 5000 4711     and the same ones again
 */
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))
const TESTS = 'test/core/interleaving.property.test.ts'
const SEQUENCES = 100_000

const [sequences = SEQUENCES, seed = randomInt(2 ** 31)] = process.argv.slice(2).map(Number)
const properties = readFileSync(`${REPOSITORY}/${TESTS}`, 'utf8').match(/await holds\(/g).length
const runs = Math.ceil(sequences / properties)

const said = `${properties} properties of ${runs} sequences each, from seed ${seed}`
console.log(said)
const { status } = spawnSync('npx', ['vitest', 'run', TESTS], {
  cwd: REPOSITORY,
  env: { ...process.env, PROPERTY_RUNS: String(runs), PROPERTY_SEED: String(seed) },
  stdio: 'inherit',
})
console.log(`${said}: ${status === 0 ? 'all hold' : 'failed'}`)
process.exitCode = status ?? 1
