/** `import`: what others have recorded, as traces. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { importCommand } from '../../src/cli/commands/import.ts'
import { createTestPlugin } from '../../src/testing.ts'
import fc from '../support/fast-check.ts'
import { fakeIo } from './fake-io.ts'
import { imported } from './imported.ts'

const RELAY = new URL('./hermes-relay.atof.jsonl', import.meta.url)

let home = ''
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'hookspan-import-'))
})
afterEach(() => rm(home, { recursive: true }))

async function called(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const io = fakeIo({ home, env: { COLUMNS: '80' } })
  const code = await importCommand.run([...args], io)
  return { code, ...io.written }
}

/** The tree of what a file says, and what could not be read. */
async function drawn(
  text: string,
  given: Parameters<typeof imported>[2] = {},
): Promise<readonly [string, readonly string[]]> {
  const plugin = createTestPlugin()
  const { problems } = await imported(text, plugin, given)
  const attributes = ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens', 'gen_ai.usage.cache_read.input_tokens']
  return [plugin.tree({ attributes }), problems]
}

const TREE = `\
agent OK
  llm.fake-1 OK
    api.fake-1 OK [gen_ai.usage.input_tokens=2170, gen_ai.usage.output_tokens=137, gen_ai.usage.cache_read.input_tokens=217]
      tool.delegate_task OK
        subagent OK
          agent OK
            llm OK
    api.fake-1 OK [gen_ai.usage.input_tokens=2210, gen_ai.usage.output_tokens=141, gen_ai.usage.cache_read.input_tokens=221]`

const START = {
  kind: 'scope',
  scope_category: 'start',
  atof_version: '0.1',
  uuid: 'a',
  parent_uuid: null,
  timestamp: '2026-11-21T10:00:00.000123456Z',
  name: 'main',
  category: 'agent',
}

/** A scope of one second that begins so many seconds after ten. */
function scope(uuid: string, parent_uuid: string | null, seconds: number, more: object = {}): string {
  const micros = (Date.parse('2026-11-21T10:00:00Z') + seconds * 1000) * 1000
  const common = { ...START, uuid, parent_uuid, name: uuid, ...more }
  return [
    { ...common, timestamp: micros },
    { ...common, scope_category: 'end', timestamp: micros + 1_000_000 },
  ]
    .map(each => JSON.stringify(each))
    .join('\n')
}

describe('events of NeMo Relay, as Hermes wrote them', () => {
  test('a child hangs below the tool that was running, tools below the request that asked for them', async () => {
    expect(await drawn(await readFile(RELAY, 'utf8'))).toEqual([TREE, []])
  })

  test('their order says nothing, and neither does a line that stands twice', async () => {
    const lines = (await readFile(RELAY, 'utf8')).trimEnd().split('\n')
    const anyOrder = fc.shuffledSubarray([...lines, ...lines], { minLength: 2 * lines.length })
    await fc.assert(
      fc.asyncProperty(anyOrder, async mixed => {
        expect(await drawn(mixed.join('\n'))).toEqual([TREE, []])
      }),
      { numRuns: 10 },
    )
  })

  test('they are in the trace log, the same each time', async () => {
    const { code, stdout, stderr } = await called(RELAY.pathname)
    expect({ code, summary: stderr.replace(/; .*/s, '') }).toEqual({ code: 0, summary: '16 records → 8 spans' })
    expect((await called(RELAY.pathname)).stdout).toBe(stdout)
  })
})

test.each([
  [
    'a circle',
    [scope('a', 'b', 0), scope('b', 'a', 0)],
    'agent OK\n  llm OK\n    subagent OK\n      agent OK\n        llm OK',
  ],
  ['one that is its own parent', [scope('a', 'a', 0)], 'agent OK\n  llm OK'],
  [
    'a parent in no line, unknown keys, a mark',
    [scope('a', 'gone', 0, { more: 1 }), '{"kind":"mark","uuid":"m"}'],
    'agent OK\n  llm OK',
  ],
  ['a tool without an agent', [scope('ls', null, 0, { category: 'tool' })], 'agent OK\n  llm OK\n    tool.ls OK'],
  [
    'what failed',
    [scope('a', null, 0), scope('m', 'a', 0, { category: 'llm', metadata: { 'otel.status_code': 'ERROR' } })],
    'agent OK\n  llm OK\n    api.error ERROR _OTHER',
  ],
])('%s', async (_, lines, tree) => {
  const [got, problems] = await drawn(lines.join('\n'))
  expect(problems).toEqual([])
  expect(got).toBe(tree)
})

test('ten thousand scopes within each other are no deeper than a list', async () => {
  const lines = Array.from({ length: 10_000 }, (_, index) =>
    scope(`${index}`, index === 0 ? null : `${index - 1}`, 0, index === 0 ? {} : { category: 'function' }),
  )
  expect(await drawn(lines.join('\n'))).toEqual(['agent OK\n  llm OK', []])
})

test('a line that is none says where, and the rest counts', async () => {
  const good = scope('a', null, 0)
  const bad = ['{"kind":', '[]', '{"kind":"scope"}', JSON.stringify({ ...START, uuid: 'x', timestamp: 'noon' })]
  const [tree, problems] = await drawn([good, ...bad].join('\n'))
  expect(tree).toBe('agent OK\n  llm OK')
  expect(problems).toEqual([
    'line 3: not JSON',
    'line 4: expected an object of the kind "scope" or "mark"',
    'line 5: it has no "uuid"',
    'line 6: its "timestamp" is no time',
  ])
})

test('no more is held than a bound, and what was read by then is told', async () => {
  const first = scope('a', null, 0)
  const [tree, problems] = await drawn(`${first}\n${scope('b', null, 5)}`, { mostBytes: first.length })
  expect(tree).toBe('agent OK\n  llm OK')
  expect(problems).toEqual([expect.stringMatching(/^line 3: more than .* what stands behind is not read$/)])
})

const TRAJECTORY = {
  schema_version: 'ATIF-v1.4',
  session_id: 's',
  agent: { name: 'other', version: '1', model_name: 'small' },
  steps: [
    { step_id: 1, source: 'user', message: [{ type: 'text', text: 'look' }] },
    {
      step_id: 2,
      source: 'agent',
      message: 'I look.',
      tool_calls: [
        { tool_call_id: 'c1', function_name: 'ls', arguments: { path: '.' } },
        { tool_call_id: 'c2', function_name: 'rm', arguments: {} },
      ],
      observation: { results: [{ source_call_id: 'c1', subagent_trajectory_ref: [{ trajectory_id: 't' }] }] },
      metrics: { prompt_tokens: 5, completion_tokens: 2, cached_tokens: 1, cost_usd: 0.25 },
    },
  ],
  subagent_trajectories: [
    {
      schema_version: 'ATIF-v1.7',
      trajectory_id: 't',
      agent: { name: 'child', version: '1' },
      steps: [{ step_id: 1, source: 'agent', message: 'here' }],
    },
  ],
}

const DRAWN = `\
agent OK
  llm.small OK
    api.small OK [gen_ai.usage.input_tokens=5, gen_ai.usage.output_tokens=2, gen_ai.usage.cache_read.input_tokens=1]
      tool.ls OK
        subagent OK
          agent OK
            llm OK
              api.error OK
      tool.rm UNSET (incomplete: turn_ended)`

test.each([
  ['a document', JSON.stringify(TRAJECTORY, undefined, 2)],
  ['a line', JSON.stringify(TRAJECTORY)],
])('a trajectory of others as %s: steps without times stand one behind another', async (_, text) => {
  expect(await drawn(text)).toEqual([DRAWN, []])
})

test.each([
  ['{\n  "steps": 1\n}', 'line 1: it has no list of "steps", so it is no trajectory'],
  ['{"schema_version":"ATIF-v9.1","steps":[]}', 'line 1: its "schema_version" is not one of ATIF-v1.0 to 1.8'],
  ['nothing of the kind', 'line 1: neither events (ATOF) nor a trajectory (ATIF): not JSON'],
])('%j is no trajectory', async (text, problem) => {
  expect(await drawn(text)).toEqual(['', [problem]])
})

test('on the command line: a line for what is wrong, and 1', async () => {
  const file = join(home, 'bad.jsonl')
  await writeFile(file, `${scope('a', null, 0)}\nnothing`)
  const { code, stderr } = await called(file, '-F', 'atof')
  expect(code).toBe(1)
  expect(stderr).toContain(`hookspan import: ${file} line 3: not JSON; the line is skipped\n`)
})

test.each([
  [[], 'expected a FILE of events or trajectories'],
  [['x', '--format', 'otlp'], '--format takes atof or atif; got "otlp"'],
])('%j is wrong use', async (args, message) => {
  const { code, stderr } = await called(...args)
  expect(code).toBe(2)
  expect(stderr).toContain(message)
})
