/** What a trace becomes that is exported and imported again: nothing is lost but what `docs/export.md` says. */
import { expect, test } from 'vitest'
import { exportAtif } from '../../src/reading/export-atif.ts'
import { exportAtof } from '../../src/reading/export-atof.ts'
import { buildForest } from '../../src/reading/trace-forest.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { RUNS, type Run } from '../conventions/runs.ts'
import { SAMPLED, sample } from '../support/sample.ts'
import { imported } from './imported.ts'

/** Runs of values that no field should have are not worth keeping. */
const REAL = RUNS.filter(({ name }) => !name.startsWith('odd value'))

/** What ATOF cannot say of a run. */
const LOST_BY_EVENTS: Readonly<Record<string, string>> = {
  'opencode: permissions': 'an approval that was asked for before its tool began',
  'openai-agents: refused-processor-alone': 'an approval beside its tool',
  'ai-sdk: granted-agent': 'an approval beside its tool',
  'ai-sdk: granted-generate': 'an approval beside its tool',
  'ai-sdk: granted-stream': 'an approval beside its tool',
  'ai-sdk: refused': 'an approval beside its tool',
  'opencode: err': 'what has no turn gets one',
  'opencode: failure': 'a side call that went on after its turn',
  'opencode: queued': 'an answer after the end of its turn',
  'gemini: fatal': 'a turn that was cut off counts as incomplete',
  'gemini: tools': 'the order of tools that began at once',
  'every field': 'how a guard failed',
}

/** What ATIF cannot say of a run. */
const LOST_BY_TRAJECTORIES: Readonly<Record<string, string>> = {
  'every field': 'the order of two calls of one request, if one of them failed before the other began',
  'copilot: background': 'a child agent that begins after its tool has ended',
  'codex: subagent': 'a child agent that begins after its tool has ended',
  'openclaw: child': 'a child agent that begins after its tool has ended',
  'demo-session.jsonl': 'a child agent that goes on after its tool has ended',
}

function recorded({ host, tell }: Run): TestPlugin {
  const plugin = createTestPlugin({ host, content_capture: 'full' })
  tell(plugin)
  return plugin
}

/** Names, parents, status, durations, tokens and cost; not how sure an agent's adapter was of its ids. */
function treeOf(plugin: TestPlugin): string {
  const attributes = ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens', 'llm.cost.total']
  return plugin.tree({ attributes, durations: true }).replace(/ \((?:inferred|ambiguous|retroactive)\)/g, '')
}

function startsOf(plugin: TestPlugin): readonly string[] {
  return plugin
    .spans()
    .map(({ name, startAt }) => `${name} ${Math.round(startAt)}`)
    .sort()
}

/** Without what is another each time: which spans, and the version that wrote. */
function documentsOf(plugin: TestPlugin): unknown {
  const left = new Set(['extra', 'trajectory_id', 'version'])
  const text = JSON.stringify(exportAtif(buildForest(plugin.spans())), (key, value) =>
    left.has(key) ? undefined : value,
  )
  return JSON.parse(text)
}

test(`events: the same tree, ${SAMPLED}`, async () => {
  for (const run of sample(REAL, 12)) {
    const before = recorded(run)
    const again = createTestPlugin({ host: run.host, content_capture: 'full' })
    const { problems } = await imported(exportAtof(buildForest(before.spans())).join('\n'), again)
    expect(problems, run.name).toEqual([])
    if (LOST_BY_EVENTS[run.name] !== undefined) continue
    expect(treeOf(again), run.name).toBe(treeOf(before))
    expect(startsOf(again), run.name).toEqual(startsOf(before))
  }
})

test(`trajectories: the same steps, tokens, cost and calls, ${SAMPLED}`, async () => {
  for (const run of sample(REAL, 12)) {
    const before = recorded(run)
    const again = createTestPlugin({ host: run.host, content_capture: 'full' })
    const lines = exportAtif(buildForest(before.spans())).map(each => JSON.stringify(each))
    const { problems } = await imported(lines.join('\n'), again)
    expect(problems, run.name).toEqual([])
    if (LOST_BY_TRAJECTORIES[run.name] === undefined) expect(documentsOf(again), run.name).toEqual(documentsOf(before))
  }
})
