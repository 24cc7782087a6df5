import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { recordsOfTrajectory } from '../../src/cli/import/trajectory-records.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { exportAtif } from '../../src/viewer/export-atif.ts'
import { buildForest } from '../../src/viewer/trace-forest.ts'
import { RUNS } from '../conventions/runs.ts'

test('x', () => {
  let good = 0
  const bad: string[] = []
  const noIds = (x: unknown) => JSON.stringify(x, (key, value) => ['extra','trajectory_id', 'version'].includes(key) ? undefined : value, 1)
  for (const { name, host, tell } of RUNS) {
    if (name.startsWith('odd')) continue
    const plugin = createTestPlugin({ host, content_capture: 'full' })
    tell(plugin)
    const before = exportAtif(buildForest(plugin.spans()))
    const again = createTestPlugin({ host, content_capture: 'full' })
    for (const d of before) for (const { hook, payload, meta } of recordsOfTrajectory(JSON.parse(JSON.stringify(d)))) again.emitUntyped(hook, payload, meta)
    const after = exportAtif(buildForest(again.spans()))
    const a = noIds(before), b = noIds(after)
    if (a === b) good++
    else bad.push(`== ${name}\n${a}\n-- \n${b}\n${again.reported.join('\n')}`)
  }
  writeFileSync('/tmp/import-rt.txt', `${good} good ${bad.length} bad\n` + bad.sort((x, y) => x.length - y.length).join('\n\n'))
  expect(good).toBeGreaterThan(0)
})
