/** What stands below the traces while one is running, with a clock and a terminal of the test's own. */
import { appendFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FollowOptions, followTraces } from '../../src/cli/commands/tree.ts'
import type { TracesPlace } from '../../src/cli/traces.ts'
import { listSegments } from '../../src/reading/trace-log.ts'
import { deadOwner, leave } from '../delivery/trace-log/checkpoint-fixture.ts'
import { exportLine, noteLine, type SpanNote, TURN_AT } from '../reading/sample-turn.ts'
import { type FakeIo, type FakeProcess, fakeIo } from './fake-io.ts'

let directory = ''
let now = TURN_AT
let place: TracesPlace
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hookspan-status-'))
  now = TURN_AT
  place = { path: directory, kind: 'directory', listFiles: () => listSegments(directory) }
})
afterEach(() => rm(directory, { recursive: true }))

const ROOT: SpanNote = {
  id: 'a1',
  trace: 'abcdef0123456789',
  name: 'agent',
  from: 0,
  to: 90_000,
  attributes: { 'hermes.span.kind': 'session', 'session.id': 's1', 'hermes.turn.final_status': 'completed' },
}
const TOOL: SpanNote = {
  id: 'b2',
  parent: 'a1',
  trace: 'abcdef0123456789',
  name: 'tool.terminal',
  from: 1_000,
  to: 80_000,
  attributes: { 'hermes.span.kind': 'tool', 'hermes.tool.command': 'npm test' },
}

function append(...lines: readonly string[]): Promise<void> {
  return appendFile(join(directory, 'a.jsonl'), lines.map(line => `${line}\n`).join(''))
}

/**
 * Follows while the steps happen, one between two looks.
 *
 * @returns what each look wrote, the last of all what the end did
 */
async function following(
  given: FakeProcess,
  steps: readonly (() => Promise<void> | void)[],
  options: Partial<FollowOptions> = {},
): Promise<{ looks: string[]; io: FakeIo }> {
  const io = fakeIo({ env: { NO_COLOR: '1' }, now: () => now, ...given })
  const looks: string[] = []
  let seen = 0
  const note = (): void => {
    looks.push(io.written.stdout.slice(seen))
    seen = io.written.stdout.length
  }
  const left = [...steps]
  const pause = async (): Promise<void> => {
    note()
    const step = left.shift()
    if (step === undefined) io.interrupt()
    await step?.()
  }
  await followTraces(
    place,
    { query: { last: 5 }, draw: tree => `tree of ${tree.traceId}\n`, showsRunning: true, pause, ...options },
    io,
  )
  note()
  return { looks, io }
}

const UP_TWO = '\u001b[2A\r\u001b[J'
const status = (running: string, tool: string): string => {
  const pad = (left: string, right: string): string => left + ' '.repeat(79 - left.length - right.length) + right
  return `${pad('○ s1', `${running} · abcdef01`)}\n${pad('  └─ tool.terminal  npm test', tool)}\n`
}

test('draws a running turn below the traces, and makes room for them', async () => {
  await append(noteLine(ROOT, TOOL))
  now = TURN_AT + 5_000
  const { looks } = await following({ columns: 80 }, [
    () => {
      now = TURN_AT + 5_400
    },
    () => {
      now = TURN_AT + 65_000
    },
    async () => {
      now = TURN_AT + 90_000
      await append(exportLine(TOOL, ROOT))
    },
  ])
  expect(looks).toEqual([
    status('running for 5 s', '4 s'),
    '',
    UP_TWO + status('running for 1 m 05 s · silent for 1 m 04 s', '1 m 04 s'),
    `${UP_TWO}tree of abcdef0123456789\n\n`,
    '',
  ])
})

test('does not draw a turn that no process continues as running', async () => {
  const traces = join(directory, 'traces')
  await mkdir(traces)
  place = { path: traces, kind: 'local log', listFiles: () => listSegments(traces) }
  leave(directory, { segment: '1-1', owner: deadOwner() })
  await appendFile(join(traces, '1-1.jsonl'), `${noteLine(ROOT)}\n`)
  now = TURN_AT + 5_000
  const { looks } = await following({ columns: 80 }, [])
  expect(looks[0]).toMatch(/^○ s1 +process exited · open 5 s\n/)
})

test('goes away with the user, without a line about waiting traces', async () => {
  await append(noteLine(ROOT, TOOL))
  now = TURN_AT + 5_000
  const { looks, io } = await following({ columns: 80 }, [])
  expect(looks).toEqual([status('running for 5 s', '4 s'), UP_TWO])
  expect(io.written.stderr).toBe('')
})

test.each<[string, FakeProcess, Partial<FollowOptions>]>([
  ['a pipe', {}, {}],
  ['a terminal that cannot go up', { columns: 80, env: { TERM: 'dumb' } }, {}],
  ['a program that reads JSON', { columns: 80 }, { showsRunning: false }],
])('writes only the traces to %s', async (_, given, options) => {
  await append(noteLine(ROOT, TOOL))
  const { looks } = await following(given, [() => append(exportLine(TOOL, ROOT))], options)
  expect(looks).toEqual(['', 'tree of abcdef0123456789\n\n', ''])
})

test('is never higher than the window', async () => {
  const turns = Array.from({ length: 6 }, (_, index) => ({ ...ROOT, id: `r${index}`, trace: `${index}f` }))
  await append(noteLine(...turns))
  const linesIn = async (rows: number | undefined): Promise<number> => {
    const { looks } = await following({ columns: 80, ...(rows !== undefined && { rows }) }, [])
    return (looks[0] ?? '').split('\n').length - 1
  }
  expect(await linesIn(undefined)).toBe(7)
  expect(await linesIn(6)).toBe(3)
  expect(await linesIn(2)).toBe(1)
})

test('shows the progress of the first, complete read', async () => {
  const { stderr } = (await withSlowClock()).io.written
  expect(stderr).toMatch(/Kreading .* · \d+ %/)
  expect(stderr.endsWith('\r\u001b[K')).toBe(true)
})

/** Each look at the clock takes 300 ms. */
async function withSlowClock(): Promise<{ io: FakeIo }> {
  await append(
    ...Array.from({ length: 400 }, (_, index) => exportLine({ ...ROOT, id: `r${index}`, trace: `t${index}` })),
  )
  const tick = (): number => {
    now += 300
    return now
  }
  return following({ columns: 80, now: tick }, [])
}
