/** What every agent is at, by logs as processes leave them. */
import { existsSync } from 'node:fs'
import { appendFile, mkdir, mkdtemp, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { beforeEach, describe, expect, test } from 'vitest'
import { TopScreen, top as topCommand, watchTop } from '../../src/cli/commands/top.ts'
import { OpenTraces } from '../../src/cli/open-traces.ts'
import { type Owner, thisOwner } from '../../src/delivery/trace-log/owner.ts'
import { deadOwner, leave } from '../delivery/trace-log/checkpoint-fixture.ts'
import { scratchPlugin } from '../plugin/scratch-plugin.ts'
import { exportLine, noteLine, type SpanNote, TURN_AT } from '../reading/sample-turn.ts'
import { afterwards } from '../support/afterwards.ts'
import { blocks, read, section } from '../support/pages.ts'
import { type FakeIo, type FakeProcess, fakeIo } from './fake-io.ts'

const { run } = topCommand
/** Four minutes into the longest of the turns. */
const NOW = TURN_AT + 245_000

let home = ''
let state = ''
beforeEach(async () => {
  const own = await mkdtemp(join(tmpdir(), 'hookspan-top-'))
  // Behind the plugins that have written there.
  afterwards(() => rm(own, { recursive: true }))
  home = own
  state = join(home, '.local', 'state', 'hookspan')
  await mkdir(join(state, 'traces'), { recursive: true })
})

/** What a process writes; its segment is open, and its own. */
async function write(segment: string, owner: Owner | undefined, ...lines: readonly string[]): Promise<string> {
  const path = join(state, 'traces', `${segment}.jsonl`)
  if (!existsSync(path)) leave(state, { segment, ...(owner && { owner }) })
  await appendFile(path, lines.map(line => `${line}\n`).join(''))
  return path
}

function turnOf(agent: string, trace: string, from: number, prompt?: string): SpanNote {
  const attributes = {
    'hermes.span.kind': 'session',
    'gen_ai.agent.name': agent,
    'session.id': `s-${trace.slice(4)}`,
    'hermes.turn.number': 3,
    ...(prompt && { 'input.value': prompt }),
  }
  return { id: `${trace}1`, trace: `${trace}ffff`, name: 'agent', from, to: from, attributes }
}

function partOf(
  turn: SpanNote,
  id: string,
  name: string,
  from: number,
  attributes: SpanNote['attributes'] = {},
): SpanNote {
  const kind = name.split('.')[0] ?? ''
  return { ...turn, id, parent: turn.id, name, from, to: from, attributes: { 'hermes.span.kind': kind, ...attributes } }
}

async function top(args: string[], given: FakeProcess = {}): Promise<{ code: number; stdout: string; stderr: string }> {
  const io = fakeIo({ home, env: { COLUMNS: '100' }, now: () => NOW, ...given })
  const code = await run(args, io)
  return { code, ...io.written }
}

/** Agents at work: one that hangs, one that asks, one that runs, and one whose process was killed. */
async function agents(): Promise<void> {
  const hung = turnOf('codex', '7c035f25', 0, 'Why does CI fail?')
  const asking = turnOf('claude-code', 'e41d07aa', 60_000, 'Publish the release')
  const running = turnOf('pi', '09ab3c11', 230_000)
  const dead = turnOf('hermes', '51f0aa02', 1_000)
  const request = partOf(hung, 'b1', 'api.qwen3', 20, {
    'gen_ai.usage.input_tokens': 1_200,
    'gen_ai.usage.output_tokens': 40,
  })
  const tool = partOf(asking, 'c1', 'tool.Bash', 200_000, { 'hermes.tool.command': 'git push' })
  await write('1-1', thisOwner(), noteLine(hung), exportLine({ ...request, to: 1_500 }))
  await write(
    '1-1',
    thisOwner(),
    noteLine(partOf(hung, 'b2', 'tool.terminal', 1_550, { 'hermes.tool.command': 'npm test' })),
  )
  await write(
    '2-1',
    thisOwner(),
    noteLine(asking, tool, { ...partOf(asking, 'c2', 'approval.push', 201_000), parent: 'c1' }),
  )
  await write('3-1', thisOwner(), noteLine(running, partOf(running, 'd1', 'api.claude-opus', 240_000)))
  await write('4-1', deadOwner(), noteLine(dead, partOf(dead, 'e1', 'tool.search', 2_000)))
}

describe('hookspan top', () => {
  test('lists open turns once in a pipe, hanging ones first and abandoned ones last', async () => {
    await agents()
    const { code, stdout, stderr } = await top([])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(blocks(section(read('docs/view.md'), 'hookspan top'), 'text')).toEqual([stdout])
  })

  test('prints a line for each turn as JSON', async () => {
    await agents()
    const turns = (await top(['--json'], { columns: 80 })).stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(turns.map(({ state: each, agent }) => `${agent} ${each}`)).toEqual([
      'codex hung',
      'claude-code waiting',
      'pi running',
      'hermes owner_dead',
    ])
    expect(turns[0]).toEqual({
      state: 'hung',
      agent: 'codex',
      session_id: 's-5f25',
      turn: 3,
      trace_id: '7c035f25ffff',
      prompt: 'Why does CI fail?',
      open_since: '2026-11-21T10:15:00.000Z',
      open_ms: 245_000,
      silent_since: '2026-11-21T10:15:01.550Z',
      silent_ms: 243_450,
      tokens: { input: 1_200, output: 40 },
      doing: [
        { span_id: 'b2', name: 'tool.terminal', hint: 'npm test', since: '2026-11-21T10:15:01.550Z', open_ms: 243_450 },
      ],
    })
  })

  test('reports that nothing is open', async () => {
    expect(await top([])).toEqual({ code: 0, stdout: 'No open turns.\n', stderr: '' })
    const ended = turnOf('pi', 'aaaa0005', 0)
    await write('5-1', thisOwner(), noteLine(ended), exportLine(ended))
    expect((await top([])).stdout).toBe('No open turns.\n')
    expect((await top(['--json'])).stdout).toBe('')
  })

  test('reads only segments with open spans, and those in which these began', async () => {
    const turn = turnOf('pi', 'aaaa0006', 1_000)
    const request = partOf(turn, 'f1', 'api.m', 1_100, {
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.usage.output_tokens': 1,
    })
    const begun = await write('1-1', undefined, noteLine(turn), exportLine(request))
    const old = await write('0-1', undefined, noteLine(turnOf('old', 'aaaa0007', 0)))
    for (const segment of ['1-1', '0-1']) await rm(join(state, 'spool', `${segment}.free.json`))
    await utimes(begun, NOW / 1000, NOW / 1000)
    await utimes(old, TURN_AT / 1000, TURN_AT / 1000)
    await write('2-1', thisOwner(), noteLine(turn))
    const { stdout } = await top([])
    expect(stdout).toContain('○ pi')
    expect(stdout).toContain('7 → 1')
    expect(stdout).not.toContain('old')
  })

  test('shows spans of a process other than the dead one as running', async () => {
    const turn = turnOf('hermes', 'aaaa0008', 240_000)
    await write('1-1', deadOwner(), noteLine(turn))
    expect((await top([])).stdout).toContain('process exited')
    await write('2-1', thisOwner(), noteLine(turn))
    expect((await top([])).stdout).toContain('1 open: 1 running')
  })

  test("has no effect of a span's text on the terminal", async () => {
    const turn = turnOf('\u001b[2J\u202eevil', 'aaaa0009', 0)
    await write('1-1', thisOwner(), noteLine(turn, partOf(turn, 'g1', 'tool.\u001b]0;t\u0007x', 10)))
    expect((await top([], { env: { COLUMNS: '60' } })).stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
  })
})

test('shows a real agent from its first hook to its end', async () => {
  const { plugin } = scratchPlugin({ host: 'toy', log_flush_ms: 0 }, home)
  const ids = { session_id: 's', turn_id: 't' }
  const call = { ...ids, tool_name: 'terminal', tool_call_id: 'c1' }
  const seen = async (): Promise<string[]> => {
    const { stdout } = await top(['--json'], { now: Date.now })
    return stdout
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line))
      .map(
        ({ state: each, agent, doing }) =>
          `${agent} ${each}: ${doing.map(({ name }: { name: string }) => name).join()}`,
      )
  }
  expect(await seen()).toEqual([])
  plugin.on('on_session_start', { ...ids, model: 'm' })
  expect(await seen()).toEqual(['toy running: agent'])
  plugin.on('pre_llm_call', { ...ids, model: 'm', user_message: 'hello' })
  expect((await top([], { now: Date.now })).stdout).toContain('\n  hello\n')
  plugin.on('pre_tool_call', { ...call, args: { command: 'ls' } })
  expect(await seen()).toEqual(['toy running: tool.terminal'])
  plugin.on('pre_approval_request', { ...call, pattern_key: 'ls', command: 'ls' })
  expect(await seen()).toEqual(['toy waiting: approval.ls'])
  plugin.on('post_approval_response', { ...call, pattern_key: 'ls', choice: 'once' })
  plugin.on('post_tool_call', { ...call, status: 'ok' })
  plugin.on('on_session_end', { ...ids, completed: true })
  expect(await seen()).toEqual([])
})

describe('on a terminal', () => {
  /** Each look's output, with a step behind each. */
  async function watched(steps: readonly (() => Promise<void> | void)[], given: FakeProcess = {}): Promise<string[]> {
    const io: FakeIo = fakeIo({ home, env: { NO_COLOR: '1' }, columns: 60, now: () => NOW, ...given })
    const looks: string[] = []
    const left = [...steps]
    let seen = 0
    const code = await watchTop(new OpenTraces(state), io, async () => {
      looks.push(io.written.stdout.slice(seen))
      seen = io.written.stdout.length
      const step = left.shift()
      if (step === undefined) io.interrupt()
      await step?.()
    })
    expect(code).toBe(0)
    return looks
  }

  test('is redrawn in place when something changes', async () => {
    const turn = turnOf('pi', '7c035f25', 240_000)
    const looks = await watched([
      () => undefined,
      async () => {
        await write('1-1', thisOwner(), noteLine(turn))
      },
      async () => {
        await write('1-1', thisOwner(), exportLine({ ...turn, to: 241_000 }))
      },
    ])
    expect(looks).toEqual([
      'No open turns.\n',
      '',
      expect.stringContaining('\u001b[1A\r\u001b[J1 open: 1 running\n\n○ pi '),
      '\u001b[4A\r\u001b[JNo open turns.\n',
    ])
  })

  test('is never higher than the window', async () => {
    await agents()
    const [look = ''] = await watched([], { rows: 8 })
    expect(look.split('\n').length - 1).toBe(6)
    expect(look).toContain('  … and 3 more open\n')
  })
})

describe('the keys of a terminal', () => {
  const UP = '\u001b[A'
  const DOWN = '\u001b[B'

  /** The four agents, and two turns that have ended, one of them with an error. */
  async function pressing(): Promise<(keys: string) => string[]> {
    await agents()
    const ended = (agent: string, trace: string, from: number, prompt: string): SpanNote => {
      return { ...turnOf(agent, trace, from, prompt), to: from + 5_000 }
    }
    const done = ended('gemini', 'aa110001', 100_000, 'Rename the module')
    const failed = ended('qwen', 'aa110002', 110_000, 'Fix the build')
    await write('5-1', thisOwner(), exportLine({ ...partOf(done, 'g1', 'tool.edit', 101_000), to: 102_000 }, done))
    const broken = { ...partOf(failed, 'f1', 'tool.make', 111_000), to: 112_000, status: 2 as const }
    await write('5-1', thisOwner(), exportLine({ ...broken, message: 'no rule' }, failed))
    const traces = new OpenTraces(state)
    const data = { open: await traces.readOpenTurns(NOW), ended: await traces.readEnded(5) }
    const screen = new TopScreen()
    const look = { width: 99, color: false, now: NOW, maxLines: 40 }
    screen.render(data, look)
    return keys => {
      expect(screen.press(keys)).toBe(true)
      return screen.render(data, look)
    }
  }

  const selected = (lines: readonly string[]): string | undefined =>
    lines.find(line => line.startsWith('▸'))?.split(' ')[1]

  test('list the ended turns below, and select one of all turns by arrows', async () => {
    const press = await pressing()
    const lines = press('')
    expect(lines.slice(-5)).toEqual([
      'Ended',
      expect.stringMatching(/^● qwen · s-0002 · turn 3 {2}Fix the build .* 1 error · 5\.0 s · 2 m 10 s ago$/),
      expect.stringMatching(/^● gemini · s-0001 · turn 3 {2}Rename the module .* 5\.0 s · 2 m 20 s ago$/),
      '',
      '↑↓ select · Enter tree · / search · e next error · w waiting only · q quit',
    ])
    expect(selected(lines)).toBe('codex')
    expect(selected(press(DOWN))).toBe('claude-code')
    expect(selected(press(`${DOWN}jj`))).toBe('qwen')
    expect(selected(press(`${DOWN}${DOWN}${DOWN}`))).toBe('gemini')
    expect(selected(press(`k${UP}`))).toBe('hermes')
  })

  test('open the tree of a turn, and return to it', async () => {
    const press = await pressing()
    const tree = press(`${DOWN}\r`)
    expect(tree[0]).toMatch(/^● claude-code · s-07aa · turn 3/)
    expect(tree.join('\n')).toContain('approval.push')
    expect(tree.at(-1)).toBe('↑↓ scroll · e next error · Esc list · q quit')
    expect(selected(press('\u001b'))).toBe('claude-code')
  })

  test('search the whole trees while typing, and clear the search', async () => {
    const press = await pressing()
    const found = press('/GIT pu')
    expect(found[0]).toBe('1 open: 1 waiting for approval')
    expect(found.at(-1)).toBe('/GIT pu▏')
    expect(press('\r').at(-1)).toMatch(/^\/GIT pu \(Esc clears\) · ↑↓ select/)
    expect(press('\u001b')[0]).toContain('4 open')
    // A letter of the search is no key, and a deleted one no part of it.
    const typed = press('/Reqx\u007f\u007fname the')
    expect(typed[0]).toBe('No open turns.')
    expect(typed.join('\n')).toContain('Rename the module')
  })

  test('go from error to error, in the list and in a tree', async () => {
    const press = await pressing()
    expect(selected(press('e'))).toBe('qwen')
    expect(selected(press('e'))).toBe('qwen')
    expect(press('\re').join('\n')).toContain('tool.make')
  })

  test('show only turns that wait for the user', async () => {
    const press = await pressing()
    const waiting = press('w')
    expect(waiting[0]).toBe('1 open: 1 waiting for approval')
    expect(waiting.join('\n')).not.toContain('Ended')
    expect(waiting.at(-1)).toMatch(/^waiting only · ↑↓/)
    expect(press('w')[0]).toContain('4 open')
  })

  test('keep the selected turn in a low window', async () => {
    await agents()
    const data = { open: await new OpenTraces(state).readOpenTurns(NOW), ended: [] }
    const screen = new TopScreen()
    const look = { width: 99, color: false, now: NOW, maxLines: 9 }
    screen.render(data, look)
    screen.press('jjj')
    const lines = screen.render(data, look)
    expect(selected(lines)).toBe('hermes')
    expect(lines.length).toBeLessThanOrEqual(9)
  })

  test('end the command by q, and leave the terminal as it was', async () => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => modes.push(isRaw) })
    const modes: boolean[] = []
    const io = { ...fakeIo({ home, env: { NO_COLOR: '1' }, columns: 80, now: () => NOW }), stdin }
    stdin.write('q')
    expect(await watchTop(new OpenTraces(state), io)).toBe(0)
    expect(modes).toEqual([true, false])
    expect(stdin.listenerCount('data')).toBe(0)
  })
})
