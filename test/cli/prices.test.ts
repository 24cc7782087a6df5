/** Costs of requests that were recorded without one, in each command that prints costs. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { beforeEach, expect, test, vi } from 'vitest'
import type { Command } from '../../src/cli/command.ts'
import { diff } from '../../src/cli/commands/diff.ts'
import { export as exportCommand } from '../../src/cli/commands/export.ts'
import { top } from '../../src/cli/commands/top.ts'
import { followTraces, tree } from '../../src/cli/commands/tree.ts'
import type { TracesPlace } from '../../src/cli/traces.ts'
import { createSpanPricer } from '../../src/plugin/prices/span-prices.ts'
import { listSegments } from '../../src/reading/trace-log.ts'
import { exportLine, type SpanNote, storedSpans, TURN_AT, UNPRICED_REQUEST } from '../reading/sample-turn.ts'
import { afterwards } from '../support/afterwards.ts'
import { type FakeProcess, fakeIo } from './fake-io.ts'

const TRACE = 'aabbccdd00112233445566778899aabb'
const ROOT: SpanNote = {
  id: 'a1',
  trace: TRACE,
  name: 'agent',
  from: 0,
  to: 900,
  attributes: { 'hermes.span.kind': 'session', 'session.id': 's-1', 'gen_ai.agent.name': 'toy' },
}
const NOTE: SpanNote = { ...ROOT, id: 'b1', parent: 'a1', name: 'api.claude-sonnet-4-5', attributes: UNPRICED_REQUEST }

let home = ''
let traces = ''
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'hookspan-prices-'))
  afterwards(() => rm(home, { recursive: true }))
  traces = join(home, '.local', 'state', 'hookspan', 'traces')
  await mkdir(traces, { recursive: true, mode: 0o700 })
  await writeFile(join(traces, '1-1.jsonl'), `${exportLine(ROOT, NOTE)}\n`, { mode: 0o600 })
})

function given(more: FakeProcess = {}): FakeProcess {
  return { home, env: { NO_COLOR: '1', COLUMNS: '120' }, now: () => TURN_AT + 60_000, ...more }
}

async function printed({ run }: Command, args: string[], more: FakeProcess = {}): Promise<string> {
  const io = fakeIo(given(more))
  expect(await run(args, io), io.written.stderr).toBe(0)
  return io.written.stdout
}

test.each([
  ['the list of trees', tree, [], /100 000 → 0 tokens · \$0\.3000 ·/],
  ['one tree, with the source of the cost', tree, ['aabbccdd'], /hermes\.cost\.source +list\n/],
  ['trees as JSON', tree, ['--json'], /"cost":0\.3,.*"hermes\.cost\.source":"list"/],
  ['a comparison', diff, ['aabbccdd', 's-1'], /cost +\$0\.3000 +\$0\.3000/],
  [
    'a table, with the source of the cost',
    exportCommand,
    ['--format', 'csv'],
    /,cost_usd,cost_source\r\n(.*\r\n)+.*,0\.3,list\r\n/,
  ],
  ['a page', exportCommand, ['--format', 'html'], /\$0\.3000/],
  ['trajectories', exportCommand, ['--format', 'atif'], /"total_cost_usd": 0\.3/],
] as const)('computes missing costs in %s, unless prices is false', async (_, command, args, expected) => {
  expect(await printed(command, [...args])).toMatch(expected)
  expect(await printed(command, [...args], { env: { COLUMNS: '120', HOOKSPAN_PRICES: 'false' } })).not.toMatch(expected)
})

test('exports OTLP as recorded', async () => {
  expect(await printed(exportCommand, ['--format', 'otlp'])).not.toContain('cost')
})

test('computes missing costs in followed traces', async () => {
  const io = fakeIo(given())
  const place: TracesPlace = { path: traces, kind: 'directory', listFiles: () => listSegments(traces) }
  const draw = vi.fn((_tree: unknown) => '')
  const pause = async (): Promise<void> => io.interrupt()
  await followTraces(place, { query: { last: 5 }, draw, showsRunning: false, pause }, io)
  expect(JSON.stringify(draw.mock.calls)).toContain('"hermes.cost.source":"list"')
})

test('computes missing costs in the ended turns of top', async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined })
  const io = { ...fakeIo(given({ columns: 120, rows: 40 })), stdin }
  const ended = top.run([], io)
  await vi.waitFor(() => {
    stdin.write(' ')
    expect(io.written.stdout).toContain('$0.3000')
  })
  stdin.write('q')
  expect(await ended).toBe(0)
})

test('looks for prices only if a request used tokens and has no cost', () => {
  const prices = vi.fn(() => ({ own: [] }))
  const price = createSpanPricer(prices)
  const paid = { ...NOTE, attributes: { ...UNPRICED_REQUEST, 'llm.cost.total': 7 } }
  const spans = storedSpans(ROOT, paid, { ...NOTE, attributes: { 'hermes.span.kind': 'api' } })
  expect(spans.map(price)).toEqual(spans)
  expect(prices).not.toHaveBeenCalled()
  expect(storedSpans(NOTE).map(price)[0]?.attributes['llm.cost.total']).toBeCloseTo(0.3)
  expect(prices).toHaveBeenCalledOnce()
})
