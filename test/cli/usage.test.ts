import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { usage } from '../../src/cli/commands/usage.ts'
import { exportLine, type SpanNote, TURN_AT } from '../reading/sample-turn.ts'
import { afterwards } from '../support/afterwards.ts'
import { type FakeIo, fakeIo } from './fake-io.ts'

const DAY = 86_400_000

let home = ''
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-usage-'))
  afterwards(() => rmSync(home, { recursive: true }))
})

function turn(trace: string, from: number, agent: string, request: NonNullable<SpanNote['attributes']>): string {
  const attributes = { 'hermes.span.kind': 'session', 'session.id': `s-${trace}`, 'gen_ai.agent.name': agent }
  const root: SpanNote = { id: 'r', trace, name: 'agent', from, to: from + 900, attributes }
  const usageOf = { 'hermes.span.kind': 'api', 'gen_ai.usage.output_tokens': 50, ...request }
  const prompt = { 'input.value': `question ${trace}` }
  return exportLine(
    { ...root, attributes: { ...attributes, ...prompt } },
    { id: 'a', parent: 'r', trace, name: 'api', from, to: from + 500, attributes: usageOf },
  )
}

function write(...lines: readonly string[]): void {
  const folder = join(home, '.local', 'state', 'hookspan', 'traces')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, '1-1.jsonl'), lines.map(line => `${line}\n`).join(''), { mode: 0o600 })
}

const CLAUDE = { 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': 'claude-sonnet-4-5' }
const PAID = { ...CLAUDE, 'gen_ai.usage.input_tokens': 1_000, 'llm.cost.total': 2 }

function writeWeeks(): void {
  const cached = { 'gen_ai.usage.input_tokens': 3_000, 'gen_ai.usage.cache_read.input_tokens': 3_000 }
  write(
    turn('t1', -8 * DAY, 'toy', { ...PAID, 'llm.cost.total': 4 }),
    turn('t2', -DAY, 'toy', PAID),
    turn('t3', 0, 'other', { ...PAID, ...cached, 'llm.cost.total': 3, 'gen_ai.request.model': 'big' }),
  )
}

async function run(args: string[], columns = 100): Promise<FakeIo['written']> {
  const io = fakeIo({ home, columns, env: { NO_COLOR: '1' }, now: () => TURN_AT + 3_600_000 })
  expect(await usage.run(args, io), io.written.stderr).toBe(0)
  return io.written
}

test('prints its start in the same way if Node.js has only English', async () => {
  // As a build of Node.js with small ICU data writes any locale.
  const write = vi.spyOn(Date.prototype, 'toLocaleString').mockReturnValue('11/21/2026, 10:45:00 AM')
  afterwards(() => write.mockRestore())
  writeWeeks()
  const later = new Date(TURN_AT + 1_800_000).toISOString().slice(0, 16)
  expect((await run(['--since', later])).stdout).toBe(`No turns since ${later.replace('T', ' ')}.\n`)
})

test('sums up this week, and compares it with the days before', async () => {
  writeWeeks()
  const [sentence = '', , head = '', ...rows] = (await run(['--by', 'model'])).stdout.trimEnd().split('\n')
  expect(sentence).toBe('$5.00 this week, up 25 %, 75 % of input from cache; 2 turns')
  expect(head).toMatch(/^ +requests +tokens in +cached +out +cost$/)
  expect(rows.map(row => row.replace(/ +/g, ' '))).toEqual([
    'big 1 3 000 100 % 50 $3.00 ████████████████',
    'claude-sonnet-4-5 1 1 000 50 $2.00 ██████████▋',
  ])
})

test('groups by day, agent or the heaviest sessions', async () => {
  writeWeeks()
  const names = async (by: string): Promise<string[]> =>
    (await run(['--by', by, '--since', '30d'])).stdout
      .trimEnd()
      .split('\n')
      .slice(3)
      .map(row => row.split('  ')[0] ?? '')
  expect(await names('agent')).toEqual(['toy', 'other'])
  expect(await names('session')).toEqual(['s-t1 question t1', 's-t3 question t3', 's-t2 question t2'])
  expect(await names('day')).toHaveLength(3)
})

test('fits a narrow terminal', async () => {
  writeWeeks()
  const { stdout } = await run(['--by', 'session'], 50)
  expect(
    Math.max(
      ...stdout
        .split('\n')
        .slice(2)
        .map(line => line.length),
    ),
  ).toBeLessThanOrEqual(50)
})

test('prices requests without a cost, unless prices is false', async () => {
  write(turn('t1', 0, 'toy', { ...CLAUDE, 'gen_ai.usage.input_tokens': 1_000_000 }))
  // A request above 200 000 tokens has the higher price of long inputs.
  expect((await run([])).stdout).toMatch(/^\$6\.00 this week;/)
  const io = fakeIo({ home, env: { HOOKSPAN_PRICES: 'false' }, now: () => TURN_AT })
  await usage.run([], io)
  expect(io.written.stdout).toMatch(/^1 000 050 tokens this week;/)
})

test('prints one object per group', async () => {
  writeWeeks()
  const [first = ''] = (await run(['--json', '--by', 'agent'])).stdout.split('\n')
  expect(JSON.parse(first)).toMatchObject({ agent: 'other', dollars: 3, latency: { p50: 500 } })
})

test.each([
  ['aabbccdd', 'for a trace: hookspan tree aabbccdd; for a session: hookspan tree --session aabbccdd'],
  ['s-t1', 'for a session: hookspan tree --session s-t1'],
])('names the command for %s, an id', async (id, hint) => {
  const io = fakeIo({ home })
  expect(await usage.run([id], io)).toBe(1)
  expect(io.written.stderr).toBe(`hookspan usage: there is no file ${id}; ${hint}\n`)
})

test('reports an empty log, and a wrong group', async () => {
  expect((await run([])).stderr).toContain('There are no traces in')
  const io = fakeIo({ home })
  expect(await usage.run(['--by', 'colour'], io)).toBe(2)
  expect(io.written.stderr).toContain('--by takes day, agent, model, project, session, got "colour"')
})
