/** What real agents did, as they were captured: why it took as long as it did, and two agents at the same task side by side. */
import { describe, expect, test } from 'vitest'
import { compareTraces } from '../../src/reading/compare-traces.ts'
import { renderComparison } from '../../src/reading/comparison-text.ts'
import { criticalPath, pathSums } from '../../src/reading/critical-path.ts'
import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import { fixturesOf, replayEvents } from '../agents/replay-fixture.ts'

async function turnsOf(host: string, scenario: string): Promise<TraceTree[]> {
  const fixture = fixturesOf(host).find(each => each.scenario === scenario)
  if (fixture === undefined) throw new Error(`no capture ${host}/${scenario}`)
  const { plugin } = await replayEvents(host, fixture.events)
  return buildForest(plugin.spans())
}

function pathText(tree: TraceTree): string {
  const path = criticalPath(tree)
  const lines = path.map(({ span, startAt, endAt, part }) => {
    const [from, to] = [startAt, endAt].map(at => (at - tree.startAt).toFixed(0).padStart(6))
    return `${from} ${to}  ${part.padEnd(8)}  ${span.name}`
  })
  const sums = pathSums(path).map(([part, millis]) => `${part} ${millis.toFixed(0)}`)
  return [...lines, sums.join(', ')].join('\n')
}

describe("the reason for a turn's duration", () => {
  test.each([
    ['claude-code', 'background-child'],
    ['claude-code', 'children'],
    ['codex', 'parallel'],
    ['codex', 'approved'],
    ['opencode', 'sub'],
    ['pi', 'approved'],
    ['pi', 'retry'],
  ])('is shown for %s, %s', async (host, scenario) => {
    const turns = await turnsOf(host, scenario)
    await expect(`${turns.map(pathText).join('\n\n')}\n`).toMatchFileSnapshot(`real-turns/${host}-${scenario}.path.txt`)
    for (const turn of turns.filter(({ roots }) => roots.length === 1)) {
      const [root] = turn.roots
      const length = (root?.span.endAt ?? 0) - (root?.span.startAt ?? 0)
      expect(pathSums(criticalPath(turn)).reduce((sum, [, millis]) => sum + millis, 0)).toBeCloseTo(length, 3)
    }
  })
})

/** Ids are made anew in each run. */
function comparisonText(a: readonly TraceTree[], b: readonly TraceTree[]): string {
  const text = renderComparison(compareTraces(a, b), { width: 110, color: false })
  return `${text.replace(/^([AB] {2}.*?) {2,}\d{4}-.*$/gm, '$1')}\n`
}

describe('two agents at the same task', () => {
  test.each([
    ['pi/parallel', 'codex/parallel'],
    ['pi/approved', 'codex/approved'],
    ['pi/retry', 'pi/tool'],
    ['claude-code/children', 'opencode/sub'],
  ])('shows their differences: %s, %s', async (one, other) => {
    const [a, b] = await Promise.all(
      [one, other].map(async name => turnsOf(...(name.split('/') as [host: string, scenario: string]))),
    )
    const name = `${one}-${other}`.replaceAll('/', '-')
    await expect(comparisonText(a ?? [], b ?? [])).toMatchFileSnapshot(`real-turns/${name}.diff.txt`)
  })
})
