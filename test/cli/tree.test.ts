import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { tree as treeCommand } from '../../src/cli/commands/tree.ts'
import {
  exportLine,
  noteLine,
  SAMPLE_TURN,
  SESSION_ID,
  type SpanNote,
  TRACE_ID,
  TURN_AT,
} from '../reading/sample-turn.ts'
import { type FakeProcess, fakeIo } from './fake-io.ts'

const { run } = treeCommand

let home = ''
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'hookspan-cli-'))
})
afterEach(() => rm(home, { recursive: true }))

const LOG = join('.local', 'state', 'hookspan', 'traces')

async function write(name: string, ...lines: readonly string[]): Promise<string> {
  const path = join(home, name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, lines.map(line => `${line}\n`).join(''), { flag: 'a' })
  return path
}

function turn(number: number): SpanNote {
  const attributes = {
    'session.id': `s${number}`,
    'hermes.span.kind': 'session',
    'hermes.turn.final_status': 'completed',
  }
  return {
    id: `r${number}`,
    trace: `trace${number}`,
    name: `agent${number}`,
    from: number * 1000,
    to: number * 1000 + 500,
    attributes,
  }
}

async function tree(
  args: string[],
  given: FakeProcess = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const io = fakeIo({ home, ...given })
  const code = await run(args, io)
  return { code, ...io.written }
}

/** The names of the roots that were drawn, in order. */
function roots(stdout: string): string[] {
  return Array.from(stdout.matchAll(/^ {2}(agent\d+)/gm), ([, name]) => name ?? '')
}

describe('hookspan tree', () => {
  test('draws the traces of a file', async () => {
    const path = await write('t.jsonl', exportLine(...SAMPLE_TURN))
    const { code, stdout, stderr } = await tree([path])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`● hermes-agent · ${SESSION_ID} · turn 1`)
    expect(stdout).toContain('429 RateLimitError')
    expect(stdout.endsWith('stop\n\n')).toBe(true)
  })

  test('draws the last five of the local log, the newest at the bottom', async () => {
    await write(join(LOG, 'a.jsonl'), ...[6, 1, 2, 3].map(number => exportLine(turn(number))))
    await write(join(LOG, 'b.jsonl'), ...[5, 4].map(number => exportLine(turn(number))))
    const { stdout } = await tree([])
    expect(roots(stdout)).toEqual(['agent2', 'agent3', 'agent4', 'agent5', 'agent6'])
    expect(stdout).toContain('  5 traces · 2.5 s · 5 spans')
    expect(roots((await tree(['--last', '1'])).stdout)).toEqual(['agent6'])
  })

  test('reads the log below XDG_STATE_HOME', async () => {
    await write(join('elsewhere', 'hookspan', 'traces', 'a.jsonl'), exportLine(turn(1)))
    const env = { XDG_STATE_HOME: join(home, 'elsewhere') }
    expect(roots((await tree([], { env })).stdout)).toEqual(['agent1'])
  })

  test('accepts a directory', async () => {
    await write(join('d', 'a.jsonl'), exportLine(turn(1)))
    expect(roots((await tree([join(home, 'd')])).stdout)).toEqual(['agent1'])
  })

  test('keeps to a session', async () => {
    const path = await write('t.jsonl', ...[1, 2, 3].map(number => exportLine(turn(number))))
    expect(roots((await tree([path, '--session', 's2'])).stdout)).toEqual(['agent2'])
    const none = await tree([path, '--session', 'x'])
    expect(none.code).toBe(0)
    expect(none.stdout).toBe(
      `No trace of session "x" among the 3 in ${path}, of 2026-11-21 10:15:01 UTC to 2026-11-21 10:15:03 UTC.\n`,
    )
  })

  test('accepts several conditions, and reports the searched traces if none has all of them', async () => {
    const used = { ...turn(2), attributes: { ...turn(2).attributes, 'gen_ai.tool.name': 'ls' } }
    const failed = { ...used, ...turn(3), status: 2 as const, attributes: used.attributes }
    const path = await write('t.jsonl', exportLine(turn(1)), exportLine(used), exportLine(failed))
    const found = async (...args: string[]): Promise<string[]> => roots((await tree([path, ...args])).stdout)
    expect(await found('--tool', 'l')).toEqual(['agent2', 'agent3'])
    expect(await found('--tool', 'l', '--errors')).toEqual(['agent3'])
    expect(await found('--tool', 'l', '-n', '1', '--session', 's2')).toEqual(['agent3'])
    // The last of them ended 3.5 s after the time that it is now.
    const now = (): number => TURN_AT + 7_000
    expect(roots((await tree([path, '--since', '5s'], { now })).stdout)).toEqual(['agent2', 'agent3'])
    const args = ['--errors', '--model', 'm', '--since', '2026-11-20', '--tool', 'ls']
    const { code, stdout } = await tree([path, ...args])
    expect(code).toBe(0)
    expect(stdout).toBe(
      `No trace with model "m", with tool "ls", with an error and since 2026-11-20 00:00:00 UTC among the 3 in ${path}, of 2026-11-21 10:15:01 UTC to 2026-11-21 10:15:03 UTC.\n`,
    )
    const json = await tree([path, ...args, '--json'])
    expect(json).toEqual({ code: 0, stdout: '', stderr: stdout })
    const one = await tree([path, '--errors', '--json'])
    expect(JSON.parse(one.stdout).trace_id).toBe('trace3')
  })

  test('reports the number of omitted traces without a limit on the command line', async () => {
    const path = await write('t.jsonl', ...[1, 2, 3, 4, 5, 6].map(number => exportLine(turn(number))))
    expect((await tree([path])).stdout).toContain('  the last 5 of 6; show more with -n N\n')
    expect((await tree([path, '-n', '5'])).stdout).not.toContain('the last')
    expect((await tree([path, '-n', '6'])).stdout).not.toContain('the last')
    expect((await tree([path, '--json'])).stdout.trim().split('\n')).toHaveLength(5)
  })

  test('reports older ones that are still running', async () => {
    const path = await write('t.jsonl', noteLine(turn(1)), exportLine(turn(2)), exportLine(turn(3)))
    const { stdout } = await tree([path, '-n', '1'], { now: () => TURN_AT + 65_000 })
    expect(roots(stdout)).toEqual(['agent3'])
    expect(stdout).toMatch(
      /\n {2}older, and still running:\n\n○ s1 .*running for 1 m 04 s · silent for 1 m 04 s · trace1\n/,
    )
    expect((await tree([path, '-n', '1', '--json'])).stdout).not.toContain('running')
  })

  test('shows on a terminal how far the reading of a long log is', async () => {
    const path = await write('t.jsonl', ...Array.from({ length: 400 }, (_, number) => exportLine(turn(number))))
    let at = TURN_AT
    const now = (): number => {
      at += 300
      return at
    }
    const { stderr } = await tree([path, '-n', '1'], { columns: 80, now })
    expect(stderr.split('\r\u001b[K')[1]).toMatch(/^reading .* · \d+ %/)
    expect(stderr.endsWith('\r\u001b[K')).toBe(true)
    expect((await tree([path, '-n', '1'], { now })).stderr).toBe('')
  })

  test('reports the searched log and the next step when there is nothing', async () => {
    const { code, stdout } = await tree([])
    expect(code).toBe(0)
    expect(stdout).toBe(
      `There are no traces in ${join(home, LOG)} yet. Run "hookspan demo" to record some, or name a file: hookspan tree FILE\n`,
    )
  })

  test('skips lines that it cannot read, and reports that in one line', async () => {
    const path = await write('t.jsonl', exportLine(turn(1)), 'nonsense', '[]')
    const { code, stdout, stderr } = await tree([path])
    expect(code).toBe(0)
    expect(roots(stdout)).toEqual(['agent1'])
    expect(stderr).toBe(`hookspan tree: 2 lines were left out; the first is line 2 of ${path}: not valid JSON\n`)
  })

  test.each([
    [['/no/such/file'], 1, 'hookspan tree: there is no file /no/such/file\n'],
    [['/dev/null'], 1, 'hookspan tree: /dev/null is not a regular file\n'],
  ])('fails in one line: %j', async (args, code, stderr) => {
    expect(await tree(args)).toEqual({ code, stdout: '', stderr })
  })

  test.each([
    [['--last', 'many'], '--last takes a whole number, got "many"'],
    [['--last'], '--last takes a value: --last N'],
    [['--since', 'soon'], '--since takes an age such as 30m, 2h or 7d, or a time such as 2026-11-21T10:15, got "soon"'],
    [['--bogus'], 'unknown option --bogus'],
    [['/', '/tmp'], 'expected one FILE at most, got 2'],
    [['abc', 'def0'], 'expected one TRACE_ID at most, got 2'],
    [['abc', '--follow'], '--follow and TRACE_ID do not go together'],
  ])('is used wrongly: %j', async (args, message) => {
    const { code, stdout, stderr } = await tree(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.split('\n')[0]).toBe(`hookspan tree: ${message}`)
  })

  test('explains its use', async () => {
    const { code, stdout } = await tree(['--help'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Usage: hookspan tree \[FILE\][\s\S]*--follow/)
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })
})

describe('--json', () => {
  test('is an object a line, spans in the order of the tree', async () => {
    const path = await write('t.jsonl', exportLine(turn(0)), exportLine(...SAMPLE_TURN))
    const { stdout } = await tree([path, '--json'])
    const traces = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(traces).toHaveLength(2)
    const [sample] = traces.filter(trace => trace.trace_id === TRACE_ID)
    expect(sample).toMatchObject({
      session_id: SESSION_ID,
      start: '2026-11-21T10:15:00.000Z',
      duration_ms: 14_150,
      outcome: 'completed',
      tokens: { input: 5230, output: 302 },
      subagent_tokens: 1176,
      span_count: 13,
      error_count: 1,
    })
    expect(sample.spans.slice(0, 3)).toMatchObject([
      { depth: 0, span_id: '0000000000000001' },
      { depth: 1, parent_span_id: '0000000000000001' },
      { depth: 2, status: 'error', attributes: { 'error.type': 'RateLimitError' } },
    ])
  })

  test('has nothing that acts on a terminal, and loses nothing', async () => {
    const name = '\x1b[31m\u202e\u009b\u{e0041}x'
    const path = await write('t.jsonl', exportLine({ ...turn(1), name }))
    const { stdout } = await tree([path, '--json'])
    expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
    expect(JSON.parse(stdout).spans[0].name).toBe(name)
  })

  test('keeps stdout for programs when there is nothing', async () => {
    const { code, stdout, stderr } = await tree(['--json'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain('There are no traces in')
  })
})

describe('colours and width', () => {
  const isColored = async (given: FakeProcess): Promise<boolean> => {
    await write(join(LOG, 'a.jsonl'), exportLine(turn(1)))
    return (await tree([], given)).stdout.includes('\x1b[')
  }

  test.each<[FakeProcess, boolean]>([
    [{ columns: 100 }, true],
    [{}, false],
    [{ columns: 100, env: { NO_COLOR: '1' } }, false],
    [{ columns: 100, env: { NO_COLOR: '' } }, true],
    [{ columns: 100, env: { TERM: 'dumb' } }, false],
    [{ env: { FORCE_COLOR: '1' } }, true],
    [{ env: { FORCE_COLOR: '0' } }, false],
  ])('draws with %j', async (given, expected) => {
    expect(await isColored(given)).toBe(expected)
  })

  test('follows the terminal', async () => {
    const path = await write('t.jsonl', exportLine(...SAMPLE_TURN))
    const widest = async (columns: number): Promise<number> => {
      const { stdout } = await tree([path], { columns, env: { NO_COLOR: '1' } })
      return Math.max(...stdout.split('\n').map(line => line.length))
    }
    expect(await widest(70)).toBe(70)
    expect(await widest(400)).toBe(160)
  })
})

/** Milliseconds. */
const FOR_LONG = 45_000

describe('--follow', () => {
  test('draws existing traces, then each one as its root ends, until interrupted', async () => {
    await write(join(LOG, 'a.jsonl'), ...[1, 2].map(number => exportLine(turn(number))))
    const io = fakeIo({ home })
    const running = run(['--follow', '--last', '1'], io)
    await vi.waitFor(() => expect(roots(io.written.stdout)).toEqual(['agent2']), FOR_LONG)
    await write(join(LOG, 'b.jsonl'), exportLine({ ...turn(3), id: 'c', parent: 'r3', name: 'tool.ls' }))
    await write(join(LOG, 'b.jsonl'), exportLine(turn(3)))
    await vi.waitFor(() => expect(roots(io.written.stdout)).toEqual(['agent2', 'agent3']), FOR_LONG)
    expect(io.written.stdout).toContain('└─ tool.ls')
    io.interrupt()
    expect(await running).toBe(0)
  })

  test('waits for a log that is not there yet', async () => {
    const io = fakeIo({ home })
    const running = run(['--follow', '--json'], io)
    await vi.waitFor(
      () => expect(io.written.stderr).toBe(`Waiting for traces in ${join(home, LOG)} (Ctrl-C ends this).\n`),
      FOR_LONG,
    )
    await write(join(LOG, 'a.jsonl'), exportLine(turn(1)))
    await vi.waitFor(() => expect(io.written.stdout).toContain('"trace_id":"trace1"'), FOR_LONG)
    io.interrupt()
    expect(await running).toBe(0)
  })
})
