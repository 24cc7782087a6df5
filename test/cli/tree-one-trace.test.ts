/** `tree TRACE_ID`: one trace, found by as much of its id as tells it from others. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tree as treeCommand } from '../../src/cli/commands/tree.ts'
import { exportLine, noteLine, type SpanNote, TURN_AT } from '../reading/sample-turn.ts'
import { fakeIo } from './fake-io.ts'

const { run } = treeCommand

const ONE = 'aabbccdd00112233445566778899aabb'
const OTHER = 'aabb99dd00112233445566778899aabb'
const THIRD = 'cc0000dd00112233445566778899aabb'

let home = ''
let log = ''
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'hookspan-one-'))
  log = join(home, '.local', 'state', 'hookspan', 'traces', 'a.jsonl')
  await mkdir(dirname(log), { recursive: true })
  await writeFile(log, [turn(ONE, 's1'), turn(OTHER, 's2'), turn(THIRD, 's3')].map(line => `${line}\n`).join(''))
})
afterEach(() => rm(home, { recursive: true }))

function note(trace: string, session: string): SpanNote {
  const attributes = { 'hermes.span.kind': 'session', 'session.id': session, 'input.value': 'x'.repeat(9_000) }
  return { id: `${trace.slice(0, 15)}1`, trace, name: 'agent', from: 0, to: 500, attributes }
}

function turn(trace: string, session: string): string {
  return exportLine(note(trace, session))
}

async function tree(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const io = fakeIo({ home, env: { COLUMNS: '80' }, now: () => TURN_AT + 60_000 })
  const code = await run([...args], io)
  return { code, ...io.written }
}

test('is drawn with all attributes of each span', async () => {
  const { code, stdout, stderr } = await tree('aabbcc')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^ {2}Question .*\n(?:.*\n)*\n● s1 .*\n.* aabbccdd\n\n {2}agent/)
  expect(stdout).toContain('  attributes\n    hermes.span.kind  session\n    input.value       xxxx')
  expect(stdout).toContain('… truncated: 9 000 characters in total')
  expect(stdout).not.toContain('s2')
})

test('has its summary first in a pipe, and last on a terminal, where the details would push it out of sight', async () => {
  const io = fakeIo({ home, env: { NO_COLOR: '1' }, columns: 80, now: () => TURN_AT })
  expect(await run(['aabbcc'], io)).toBe(0)
  const { stdout } = io.written
  expect(stdout).toMatch(/^● s1 /)
  expect(stdout.slice(stdout.lastIndexOf('attributes'))).toMatch(
    /\n\n {2}Question .*\n.*…\n {2}Time .*\n {2}Slowest .*\n\n$/,
  )
  expect((await tree('aabbcc', '--json')).stdout).not.toContain('Question')
})

test.each([['AABBCC'], [ONE], ['aabbcc', '--session', 's1']])('is found by %s', async (...args) => {
  expect((await tree(...args)).stdout).toContain('session.id        s1')
})

test('is whole as JSON', async () => {
  const { stdout } = await tree('cc', '--json')
  const { trace_id, spans } = JSON.parse(stdout)
  expect(trace_id).toBe(THIRD)
  expect(spans[0].attributes['input.value']).toHaveLength(9_000)
})

test('may be one that is running', async () => {
  await writeFile(log, `${noteLine(note(ONE, 's1'))}\n`)
  const { stdout } = await tree(ONE)
  expect(stdout).toContain('running · 1 m 00 s · silent for 1 m 00 s')
  expect(stdout).toContain('  duration  1 m 00 s so far\n')
})

test('is searched in a file, which may be the first or last argument', async () => {
  const path = join(home, 't.jsonl')
  await writeFile(path, turn('dd112233445566778899aabbccddeeff', 's9'))
  for (const args of [
    [path, 'dd'],
    ['dd', path],
  ]) {
    expect((await tree(...args)).stdout).toContain('session.id        s9')
  }
})

test('reads an existing name as a file', async () => {
  const before = process.cwd()
  await writeFile(join(home, 'aabbcc'), `${turn(THIRD, 's7')}\n`)
  process.chdir(home)
  try {
    expect((await tree('aabbcc')).stdout).toMatch(/^● s7 /)
  } finally {
    process.chdir(before)
  }
})

test('lists the candidates for an ambiguous beginning', async () => {
  const { code, stdout, stderr } = await tree('aabb')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toBe(
    `hookspan tree: there are 2 traces whose id starts with aabb: ${ONE} (s1, 2026-11-21 10:15:00 UTC), ${OTHER} (s2, 2026-11-21 10:15:00 UTC); give more digits\n`,
  )
})

test('reports the searched log for an unknown beginning', async () => {
  expect(await tree('ffff', '--errors')).toEqual({
    code: 1,
    stdout: '',
    stderr: `hookspan tree: there is no trace whose id starts with ffff, with an error, among the 3 in ${dirname(log)}, and no file of that name; for a session: hookspan tree --session ffff\n`,
  })
})

test('rejects a word that can be neither', async () => {
  expect((await tree('s-7f3a')).stderr).toBe(
    'hookspan tree: there is no file s-7f3a; for a session: hookspan tree --session s-7f3a\n',
  )
})

test('has no effect of a hostile id on the terminal', async () => {
  const evil = `aabb\u001b[2J\u202e${'0'.repeat(20)}`
  await writeFile(log, `${turn(evil, 's1')}\n${turn(`${evil}1`, 's1')}\n`)
  const { stderr } = await tree('aabb')
  expect(stderr).toContain('there are 2 traces')
  expect(stderr.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u)
})
