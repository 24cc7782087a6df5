/**
 * Whether a test is ever red by chance: runs of `npm test` in a row beside four processes that do nothing but count.
 *
 *     node scripts/test-under-load.mjs                       20 runs
 *     node scripts/test-under-load.mjs --runs 3 test/tracker    so many, of some files
 *
 * Prints a line for each run and, of what failed, its name and its first line; ends with 1 where anything did.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))
const BUSY_PROCESSES = 4

const { values, positionals } = parseArgs({
  options: { runs: { type: 'string', default: '20' } },
  allowPositionals: true,
})
const directory = mkdtempSync(join(tmpdir(), 'hookspan-under-load-'))
/** Until who started it is gone, however that came about. */
const BUSY = 'const { ppid } = process; while (process.ppid === ppid);'
const busy = Array.from({ length: BUSY_PROCESSES }, () => spawn(process.execPath, ['-e', BUSY], { stdio: 'ignore' }))
try {
  let redRuns = 0
  for (let run = 1; run <= Number(values.runs); run++) redRuns += played(run) ? 0 : 1
  console.log(`${values.runs} runs beside ${BUSY_PROCESSES} busy processes: ${redRuns} with failures`)
  process.exitCode = redRuns === 0 ? 0 : 1
} finally {
  for (const child of busy) child.kill('SIGKILL')
  rmSync(directory, { recursive: true })
}

/** Whether everything passed. */
function played(run) {
  const report = join(directory, `${run}.json`)
  const startedAt = performance.now()
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...positionals,
  ]
  const { status, stderr } = spawnSync(process.execPath, args, {
    cwd: REPOSITORY,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  const told = readReport(report)
  const failures = told === undefined ? [] : failuresIn(told)
  // What failed before any test.
  if (status !== 0 && failures.length === 0) failures.push(stderr.trim())
  console.log(`run ${run}: ${told?.numPassedTests ?? 0} passed, ${failures.length} failed, ${seconds} s`)
  for (const failure of failures) console.log(`  ${failure}`)
  return status === 0
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function failuresIn({ testResults }) {
  return testResults.flatMap(({ name, message, assertionResults }) => {
    const tests = assertionResults.filter(({ status }) => status === 'failed')
    const lines = tests.map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages[0]?.split('\n')[0]}`)
    // A file that cannot be loaded has no test that could fail.
    return (message ? [message.split('\n')[0], ...lines] : lines).map(line => `${name}: ${line}`)
  })
}
