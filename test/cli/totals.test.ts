/** What the turns of the demo used is said in many places: the same everywhere, and as counted from their records alone. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { demo as demoCommand } from '../../src/cli/commands/demo.ts'
import { replay as replayCommand } from '../../src/cli/commands/replay.ts'
import { tree as treeCommand } from '../../src/cli/commands/tree.ts'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { humanCount } from '../../src/reading/human-figures.ts'
import { workload } from '../backends/workload/feed.ts'
import { type Totals, totalsOf } from '../backends/workload/totals.ts'
import { type TurnTokens, tokensOfTurn, tokensOfTurns } from '../backends/workload/turn-tokens.ts'
import type { WorkloadRecord } from '../backends/workload/workload-record.ts'
import { freePort } from '../delivery/pipeline/pipeline-fixture.ts'
import { fakeIo } from './fake-io.ts'

const { run: demo } = demoCommand
const { run: replay } = replayCommand
const { run: tree } = treeCommand

const RECORDINGS = ['hermes-turn', 'demo-session'].map(name => `fixtures/${name}.jsonl`)

interface SpanJson {
  readonly depth: number
  readonly attributes: Readonly<Record<string, unknown>>
}

interface TraceJson {
  readonly tokens: { readonly input: number; readonly output: number }
  readonly subagent_tokens?: number
  readonly auxiliary_tokens?: number
  readonly spans: readonly SpanJson[]
}

let home = ''
let records: readonly WorkloadRecord[]
let totals: Totals
const shown = { demo: '', replay: '', tree: '' }
let traces: readonly TraceJson[]

async function out(run: typeof demo, args: string[]): Promise<string> {
  const io = fakeIo({ home, columns: 200, env: { NO_COLOR: '1' } })
  expect(await run(args, io)).toBe(0)
  return io.written.stdout
}

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-totals-'))
  records = await workload(['recordings'])
  totals = totalsOf(records)
  shown.demo = await out(demo, [])
  shown.tree = await out(tree, [])
  const lines = (await out(tree, ['--json'])).trimEnd().split('\n')
  traces = lines.map(line => JSON.parse(line) as TraceJson)
  shown.replay = await out(replay, RECORDINGS)
})

afterAll(() => rmSync(home, { recursive: true, force: true }))

const turnOf = ({ attributes }: SpanJson): string => String(attributes['hermes.turn.id'])
const kindOf = ({ attributes }: SpanJson): unknown => attributes['hermes.span.kind']

/** The turns that a person asked for, oldest first. */
function mainTurns(): string[] {
  return traces.map(({ spans: [root] }) => turnOf(root as SpanJson))
}

/** What a root can say of all that was used for it. */
function allInTime({ own, subagents, sideCalls }: TurnTokens): number {
  return own.total + subagents + sideCalls
}

interface Said {
  readonly all: number
  readonly subagents: number
  readonly sideCalls: number
}

const COUNT = '(\\d[\\d ]*)'
const USAGE = new RegExp(
  `${COUNT} → ${COUNT} tokens(?:, of which (?:${COUNT} in sub-agents)?(?: and )?(?:${COUNT} in side calls)?)?`,
)

/** Reads `9 822 → 73 tokens, of which 319 in side calls`. */
function said(line: string | undefined): Said {
  const [input, output, subagents, sideCalls] = (USAGE.exec(line ?? '') ?? [])
    .slice(1)
    .map(text => Number((text ?? '0').replaceAll(' ', '')))
  return { all: Number(input) + Number(output), subagents: Number(subagents), sideCalls: Number(sideCalls) }
}

function expected(turns: readonly string[]): Said {
  const tokens = tokensOfTurns(totals, turns)
  const { subagents, outliving, sideCalls } = tokens
  return { all: allInTime(tokens) + outliving, subagents: subagents + outliving, sideCalls }
}

const linesWith = (text: string, pattern: RegExp): string[] => text.split('\n').filter(line => pattern.test(line))

test('has data of every part', () => {
  const { own, subagents, outliving, sideCalls } = tokensOfTurns(totals, mainTurns())
  expect(mainTurns()).toHaveLength(4)
  expect(own.total + subagents + outliving + sideCalls).toBe(totals.overall.tokens.total)
  for (const part of [own.total, subagents, outliving, sideCalls]) expect(part).toBeGreaterThan(0)
})

describe.each(['demo', 'replay', 'tree'] as const)('the output of hookspan %s', command => {
  test('sums up all traces in its last line', () => {
    const [footer, ...others] = linesWith(shown[command], /^ {2}4 traces · /)
    expect(others).toEqual([])
    expect(said(footer)).toEqual(expected(mainTurns()))
  })

  test('has the usage in the header of each', () => {
    const headers = linesWith(shown[command], /^ {2}completed · .* spans · /)
    expect(headers.map(said)).toEqual(mainTurns().map(turn => expected([turn])))
  })

  test('has its own usage in the rows of a turn', () => {
    const rows = linesWith(shown[command], /^[ │├└─]*agent {2}/)
    const own = traces.flatMap(({ spans }) =>
      spans.filter(span => kindOf(span) === 'session').map(span => tokensOfTurn(totals, turnOf(span)).own),
    )
    expect(rows).toHaveLength(own.length)
    for (const [at, { input, output }] of own.entries()) {
      expect(rows[at]).toContain(` ${humanCount(input)} → ${humanCount(output)} `)
    }
  })

  test('has rows of requests and side calls that add up to the header', () => {
    const rows = linesWith(shown[command], /^[ │├└─]*(api|aux)\..* → /)
    const sums = rows.map(row => /(\d[\d ]*) → (\d+(?: \d{3})*)/.exec(row.replace(/ {2,}/g, '  ')))
    const all = sums.reduce(
      (sum, found) => sum + Number(found?.[1]?.replaceAll(' ', '')) + Number(found?.[2]?.replaceAll(' ', '')),
      0,
    )
    expect(all).toBe(totals.overall.tokens.total)
  })
})

test('has the sum and its parts in tree --json', () => {
  const told = traces.map(({ tokens, subagent_tokens = 0, auxiliary_tokens = 0 }) => ({
    all: tokens.input + tokens.output,
    subagents: subagent_tokens,
    sideCalls: auxiliary_tokens,
  }))
  expect(told).toEqual(mainTurns().map(turn => expected([turn])))
})

test('has the parts and their sum on every root', () => {
  const roots = traces.flatMap(({ spans }) => spans.filter(span => kindOf(span) === 'session'))
  expect(roots).toHaveLength(totals.overall.turns)
  for (const root of roots) {
    const tokens = tokensOfTurn(totals, turnOf(root))
    const number = (name: string): number => Number(root.attributes[`hermes.turn.${name}`] ?? 0)
    expect({
      input: number('tokens.input'),
      output: number('tokens.output'),
      total: number('tokens.total'),
      cacheRead: number('tokens.cache_read'),
      cacheWrite: number('tokens.cache_write'),
      reasoning: number('tokens.reasoning'),
    }).toEqual(tokens.own)
    expect(number('subagent_tokens.total')).toBe(tokens.subagents)
    expect(number('auxiliary_tokens.total')).toBe(tokens.sideCalls)
    expect(number('all_tokens.total')).toBe(allInTime(tokens))
    expect(number('all_tokens.input') + number('all_tokens.output')).toBe(allInTime(tokens))
    // One of the demo's sub-agents goes on in the background: the root says that there is more than it knows.
    expect(number('subagent_open_count')).toBe(tokens.outliving > 0 ? 1 : 0)
  }
})

test("sums the requests of a trace to the root's values, input and output apart", () => {
  for (const { spans } of traces) {
    const sum = (name: string, of = spans): number =>
      of.reduce((total, { attributes }) => total + Number(attributes[name] ?? 0), 0)
    const [root] = spans as [SpanJson]
    const isPart = root.attributes['hermes.turn.subagent_open_count'] !== undefined
    const telling = spans.filter(span => span === root || (isPart && kindOf(span) === 'session'))
    for (const which of ['input', 'output'])
      expect(sum(`gen_ai.usage.${which}_tokens`)).toBe(sum(`hermes.turn.all_tokens.${which}`, telling))
  }
})

test('has the same parts as Prometheus', async () => {
  const port = await freePort()
  const config = { local_log: false, prometheus: { host: '127.0.0.1', port } }
  const plugin = createPluginIn({ host: 'totals', ...config }, { env: {}, home, isReplay: true })
  for (const { hook, payload, meta } of records) void plugin.emitUntyped(hook, payload, meta)
  await plugin.flush()
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  await plugin.shutdown()
  const sum = (which: string, labels = ''): number =>
    [...page.matchAll(new RegExp(`^hermes_tokens_${which}_total\\{[^}]*${labels}[^}]*\\} (\\d+)`, 'gm'))].reduce(
      (total, [, value]) => total + Number(value),
      0,
    )
  const total = (labels?: string): number => sum('input', labels) + sum('output', labels)
  const { own, subagents, outliving, sideCalls } = tokensOfTurns(totals, mainTurns())
  expect(total('part="own"')).toBe(own.total)
  expect(total('part="subagent"')).toBe(subagents + outliving)
  expect(total('part="auxiliary"')).toBe(sideCalls)
  const { input, output, cacheRead } = totals.overall.tokens
  expect([sum('input'), sum('output'), sum('cache_read')]).toEqual([input, output, cacheRead])
})
