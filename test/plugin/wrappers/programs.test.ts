import { expect, test } from 'vitest'
import { createTestPlugin } from '../../../src/testing.ts'
import { assertHolds } from '../../support/assert-holds.ts'
import { times } from '../../support/sample.ts'
import { expectAllAccounted, expectCountedIncomplete, expectSoundSpans } from '../../support/trace-invariants.ts'
import { turnProgram } from './programs.ts'
import { drawnOf, ProgramRun, textOf } from './run-program.ts'

test("builds the tree of an agent's calls, whatever it does with the wrappers", async () => {
  await assertHolds(
    turnProgram(3),
    async program => {
      const hooks = createTestPlugin()
      const run = new ProgramRun()
      await run.run(hooks.turn, program)
      const samples = await hooks.metrics()
      expect(textOf(drawnOf(hooks.spans()))).toBe(textOf(run.traces))
      expectSoundSpans(hooks.spans())
      expectCountedIncomplete(hooks.spans(), samples)
      expectAllAccounted(hooks, samples, run.records)
      await hooks.shutdown()
    },
    { numRuns: times(20, 1000) },
  )
})
