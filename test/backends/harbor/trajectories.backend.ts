/** Every recording that there is, as trajectories, before harbor's own validator. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { exportAtif } from '../../../src/reading/export-atif.ts'
import { buildForest } from '../../../src/reading/trace-forest.ts'
import { createTestPlugin } from '../../../src/testing.ts'
import { RUNS } from '../../conventions/runs.ts'
import { installedPath } from '../support/installed.ts'

const VALIDATE = fileURLToPath(new URL('validate.py', import.meta.url))
const MAX_OUTPUT = 64 * 1024 * 1024

/** The faults of each document. */
function judged(documents: readonly object[]): readonly (readonly string[])[] {
  const input = documents.map(each => `${JSON.stringify(each)}\n`).join('')
  const output = execFileSync(installedPath('harbor', 'python'), [VALIDATE], { input, maxBuffer: MAX_OUTPUT })
  return JSON.parse(output.toString('utf8')) as string[][]
}

test.each(['off', 'preview', 'full'] as const)('accepts every run, content_capture: %s', content_capture => {
  const documents = RUNS.flatMap(({ name, host, tell }) => {
    const plugin = createTestPlugin({ host, content_capture })
    tell(plugin)
    return exportAtif(buildForest(plugin.spans())).map(document => ({ name, document }))
  })
  expect(documents.length).toBeGreaterThan(100)
  const faults = judged(documents.map(({ document }) => document))
  expect(faults).toHaveLength(documents.length)
  const refused = documents.flatMap(({ name }, index) =>
    faults[index]!.length === 0 ? [] : [{ name, faults: faults[index] }],
  )
  expect(refused).toEqual([])
})

test('reports what it rejects', () => {
  const agent = { name: 'a', version: '1' }
  const step = { step_id: 2, source: 'user', message: '' }
  const [faults] = judged([{ schema_version: 'ATIF-v1.7', session_id: 's', agent, steps: [step], more: 1 }])
  expect(faults?.join('\n')).toMatch(/more/)
})
