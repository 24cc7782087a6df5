import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { diff as diffCommand } from '../../src/cli/commands/diff.ts'
import { exportLine, type SpanNote, TURN_AT } from '../reading/sample-turn.ts'
import { blocks, read, section } from '../support/pages.ts'
import { DIFF_PAGE } from './diff-page.ts'
import { fakeIo } from './fake-io.ts'

const { run } = diffCommand

let home = ''
let log = ''
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'hookspan-diff-'))
  log = join(home, '.local', 'state', 'hookspan', 'traces', 'a.jsonl')
  await mkdir(dirname(log), { recursive: true })
})
afterEach(() => rm(home, { recursive: true }))

const ONE = 'aabbccdd00112233445566778899aabb'
const OTHER = 'aabb99dd00112233445566778899aabb'
const THIRD = 'cc0000dd00112233445566778899aabb'

function turn(trace: string, session: string, tool: string, from = 0): string {
  const root: SpanNote = {
    id: `${trace.slice(0, 15)}1`,
    trace,
    name: 'agent',
    from,
    to: from + 500,
    attributes: { 'hermes.span.kind': 'session', 'session.id': session, 'gen_ai.agent.name': 'toy' },
  }
  const attributes = { 'hermes.span.kind': 'tool', 'session.id': session }
  return `${exportLine(root, { ...root, id: `${trace.slice(0, 15)}2`, parent: root.id, name: `tool.${tool}`, attributes })}\n`
}

async function diff(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const io = fakeIo({ home, env: { COLUMNS: '80' }, now: () => TURN_AT + 60_000 })
  const code = await run([...args], io)
  return { code, ...io.written }
}

/** The names of both sides, and whether they are the same. */
async function compared(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await diff('--json', ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const { a, b, first_difference } = JSON.parse(stdout)
  return `${a.trace_ids.join()} ${b.trace_ids.join()} ${first_difference}`
}

describe('A and B', () => {
  beforeEach(() =>
    writeFile(log, turn(ONE, 's1', 'ls') + turn(OTHER, 's2', 'ls', 600) + turn(THIRD, 's2', 'cat', 1_200)),
  )

  test('accepts turns, by the beginnings of their ids', async () => {
    expect(await compared('aabbc', 'CC')).toBe(`${ONE} ${THIRD} 1`)
    expect(await compared('aabbc', 'aabb9')).toBe(`${ONE} ${OTHER} null`)
  })

  test('accepts sessions, whole or by the beginning of their id', async () => {
    expect(await compared('s1', 's2')).toBe(`${ONE} ${OTHER},${THIRD} 2`)
    expect(await compared(ONE, 's2')).toBe(`${ONE} ${OTHER},${THIRD} 2`)
  })

  test('compares the last of very many turns, with a line', async () => {
    const turns = Array.from({ length: 1001 }, (_, at) =>
      turn((4096 + at).toString(16).padStart(32, '0'), 'long', 'ls', at),
    )
    await writeFile(log, turn(ONE, 's1', 'ls') + turns.join(''))
    const { code, stdout, stderr } = await diff('--json', 's1', 'long')
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'hookspan diff: long: 1 001 turns match; only the last 1 000 are compared\n',
    })
    expect(JSON.parse(stdout).b.trace_ids).toHaveLength(1000)
  })

  test('finds a session whose id could be that of a trace', async () => {
    await writeFile(log, turn(ONE, 'feed', 'ls') + turn(OTHER, 'feed', 'ls'))
    expect(await compared('feed', 'aabb99')).toBe(`${ONE},${OTHER} ${OTHER} 2`)
  })

  test('finds a session whose id begins like that of another', async () => {
    await writeFile(log, turn(ONE, 's1', 'ls') + turn(OTHER, 's10', 'ls') + turn(THIRD, 's11', 'ls'))
    expect(await compared('s1', 's10')).toBe(`${ONE} ${OTHER} null`)
    expect((await diff('s', 's10')).stderr).toBe(
      'hookspan diff: there are 3 sessions whose id starts with s: s1, s10, s11; give more of the id\n',
    )
  })

  test('reads them from a file, or as files', async () => {
    const file = join(home, 'one.jsonl')
    const other = join(home, 'other.jsonl')
    await writeFile(file, turn(ONE, 'x1', 'ls') + turn(OTHER, 'x2', 'cat'))
    await writeFile(other, turn(THIRD, 'x3', 'ls'))
    expect(await compared(file, 'x1', 'x2')).toBe(`${ONE} ${OTHER} 1`)
    expect(await compared('x1', 'x2', file)).toBe(`${ONE} ${OTHER} 1`)
    expect(await compared(file, other)).toBe(`${ONE},${OTHER} ${THIRD} 2`)
    expect(await compared(other, 's1')).toBe(`${THIRD} ${ONE} null`)
  })
})

test('prints the sample of docs/commands.md', async () => {
  await writeFile(log, `${exportLine(...DIFF_PAGE)}\n`)
  const io = fakeIo({ home, env: { COLUMNS: '100' } })
  expect(await run(['7c035f25', 'e41d07aa'], io)).toBe(0)
  const page = section(read('docs/commands.md'), 'hookspan diff')
  expect(blocks(page, 'text')).toEqual([io.written.stdout])
  expect(blocks(page, 'sh')).toEqual(['npx hookspan diff 7c035f25 e41d07aa\n'])
})

describe('a comparison without a result', () => {
  beforeEach(() => writeFile(log, turn(ONE, 's1', 'ls') + turn(OTHER, 's2', 'ls')))

  test.each<[string[], number, string]>([
    [['s1'], 2, 'expected A and B, two turns, sessions or files, got 1'],
    [[], 2, 'expected A and B, two turns, sessions or files, got 0'],
    [['s1', 's2', 's3'], 2, 'expected A and B, two turns, sessions or files, got 3'],
    [['aabb', 's1'], 1, 'there are 2 traces whose id starts with aabb'],
    [['s9', 's1'], 1, 'there is no trace whose id starts with s9, no session of that id in'],
  ])('reports %j', async (args, exitCode, message) => {
    const { code, stdout, stderr } = await diff(...args)
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' })
    expect(stderr).toContain(`hookspan diff: ${message}`)
  })

  test('reports a file that is no trace log', async () => {
    const file = join(home, 'notes.txt')
    await writeFile(file, 'hello\n')
    expect(await diff(file, 's1')).toMatchObject({ code: 1, stdout: '' })
  })
})
