import { once } from 'node:events'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type {
  Compared,
  FoundSpans,
  LiveLine,
  SessionDetail,
  SessionPage,
  Shared,
  SpanDetail,
  TraceView,
  Usage,
  ValuePart,
} from '../../../src/viewer/server/api.ts'
import type { TraceSource } from '../../../src/viewer/trace-index/trace-index.ts'
import {
  exportLine,
  noteLine,
  SAMPLE_TURN,
  SESSION_ID,
  type SpanNote,
  TRACE_ID,
  TURN_AT,
} from '../../reading/sample-turn.ts'
import { until } from '../../support/until.ts'
import { ask, data, type FileSource, NOTHING, NOW, openFile, serve, sourceOf, TOKEN } from './viewing.ts'

/** The sample turn, for those who only read it. */
let sample: FileSource
const folder = mkdtempSync(join(tmpdir(), 'hookspan-served-'))

beforeAll(async () => {
  sample = await openFile(folder, [exportLine(...SAMPLE_TURN)])
})

afterAll(async () => {
  await sample.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Rows as an indented text. */
function outline({ rows }: TraceView): string {
  return rows
    .map(({ depth, kind, name, attempt, hint, state, outcome }) =>
      [`${'  '.repeat(depth)}${kind} ${name}`, attempt, hint, state === 'ended' ? outcome?.text : state]
        .filter(Boolean)
        .join(' | '),
    )
    .join('\n')
}

describe('a turn', () => {
  test('is rows in the order of its tree', async () => {
    const { port } = await serve({ source: sample })
    const view = await data<TraceView>(port, `/api/traces/${TRACE_ID}`)
    expect(outline(view)).toMatchInlineSnapshot(`
      "session agent | Remove the build directory, show me the README, and have a helper summarise the changelog. | completed
        llm llm.qwen3-coder-30b
          api api.qwen3-coder-30b | Error code: 429 - rate limit reached, retry in 2s | 429 RateLimitError
          api api.qwen3-coder-30b | attempt 2 | tool_calls
            tool tool.terminal | rm -rf ./build | completed
              approval approval.rm_rf | rm -rf ./build | once
            tool tool.read_file | README.md | completed
            tool tool.delegate_task | completed
              subagent subagent.leaf | Summarise CHANGELOG.md in three bullets | completed
                session agent | completed
                  llm llm.qwen3-coder-30b
                    api api.qwen3-coder-30b | stop
          api api.qwen3-coder-30b | stop"
    `)
    expect(view).toMatchObject({
      now: NOW,
      turn: { sessionId: SESSION_ID, state: 'ended', spanCount: 13, turnNumber: 1 },
    })
    expect(view.rows.map(({ parent }) => parent)).toEqual([-1, 0, 1, 1, 3, 4, 3, 3, 7, 8, 9, 10, 1])
  })

  test('has the spans that it waited for, and sums for hidden ones', async () => {
    const { port } = await serve({ source: sample })
    const { rows, path, startAt } = await data<TraceView>(port, `/api/traces/${TRACE_ID}`)
    const sections = path.map(({ row, part, ...section }) => {
      const [from, to] = [section.startAt - startAt, section.endAt - startAt]
      return `${from}-${to} ${part} ${rows[row]?.name}`
    })
    expect(sections.join('\n')).toMatchInlineSnapshot(`
      "0-20 untraced agent
      20-50 untraced llm.qwen3-coder-30b
      50-410 model api.qwen3-coder-30b
      410-2450 untraced llm.qwen3-coder-30b
      2450-4300 model api.qwen3-coder-30b
      4300-4330 untraced llm.qwen3-coder-30b
      4330-4360 tools tool.terminal
      4360-9900 you approval.rm_rf
      9900-10060 tools tool.terminal
      10060-10080 untraced llm.qwen3-coder-30b
      10080-10210 tools tool.delegate_task
      10210-10250 untraced subagent.leaf
      10250-10260 untraced agent
      10260-10280 untraced llm.qwen3-coder-30b
      10280-12600 model api.qwen3-coder-30b
      12600-12620 untraced llm.qwen3-coder-30b
      12620-12630 untraced agent
      12630-12700 untraced subagent.leaf
      12700-12720 tools tool.delegate_task
      12720-12800 untraced llm.qwen3-coder-30b
      12800-14100 model api.qwen3-coder-30b
      14100-14130 untraced llm.qwen3-coder-30b
      14130-14150 untraced agent"
    `)
    expect(rows[3]?.sum).toEqual({ input: 2_920, output: 244, cached: 1_228, cost: 0, errorCount: 0 })
    expect(rows.map(({ cached = 0 }) => cached).filter(cached => cached > 0)).toEqual([1_228, 1_840])
    expect(rows.filter(row => row.isPersonWait).map(({ name }) => name)).toEqual(['approval.rm_rf'])
  })

  test('has the same again and again as one row', async () => {
    const calls = Array.from(
      { length: 7 },
      (_, index): SpanNote => ({
        id: `a${index}`,
        parent: '01',
        name: 'tool.read_file',
        from: index * 10,
        to: index * 10 + index,
        attributes: { 'hermes.span.kind': 'tool', 'hermes.tool.outcome': 'completed' },
      }),
    )
    const root: SpanNote = { id: '01', name: 'agent', from: 0, to: 100, attributes: { 'hermes.span.kind': 'session' } }
    const { port } = await serve({ source: await sourceOf(exportLine(root, ...calls)) })
    const { folds } = await data<TraceView>(port, `/api/traces/${TRACE_ID}`)
    expect(folds).toEqual([{ rows: [1, 2, 3, 4, 5, 6, 7], totalMillis: 21 }])
  })

  test('is marked as open if it is, span by span', async () => {
    const source = await sourceOf(exportLine(...SAMPLE_TURN.slice(0, 3)), noteLine(...SAMPLE_TURN.slice(3)))
    const { port } = await serve({ source })
    const view = await data<TraceView>(port, `/api/traces/${TRACE_ID}`)
    expect(view.turn.state).toBe('open')
    expect(view.rows.map(({ name, state }) => `${name} ${state}`).slice(0, 5)).toEqual([
      'agent open',
      'llm.qwen3-coder-30b open',
      'api.qwen3-coder-30b ended',
      'api.qwen3-coder-30b ended',
      'tool.terminal open',
    ])
  })

  test('knows its neighbours in the session', async () => {
    const root = (id: string, from: number): SpanNote => ({
      id,
      trace: id.padStart(32, '0'),
      name: 'agent',
      from,
      to: from + 10,
      attributes: { 'session.id': 's', 'hermes.span.kind': 'session' },
    })
    const { port } = await serve({ source: await sourceOf(exportLine(root('0a', 0), root('0b', 20), root('0c', 40))) })
    const view = await data<TraceView>(port, `/api/traces/${'0b'.padStart(32, '0')}`)
    expect(view).toMatchObject({ previous: '0a'.padStart(32, '0'), next: '0c'.padStart(32, '0') })
  })

  test('names the spans that have begun turns of other sessions', async () => {
    const span = (
      id: string,
      trace: string,
      kind: string,
      more: Readonly<Record<string, string>>,
      parent?: string,
    ): SpanNote => ({
      id,
      trace: trace.padStart(32, '0'),
      ...(parent !== undefined && { parent }),
      name: kind,
      from: 0,
      to: 10,
      attributes: { 'hermes.span.kind': kind, ...more },
    })
    const lines = exportLine(
      span('0a', 'a', 'session', { 'session.id': 'parent', 'hermes.session.id': 'parent' }),
      span('0b', 'a', 'subagent', { 'session.id': 'parent', 'hermes.subagent.child_session_id': 'child' }, '0a'),
      span('0c', 'c', 'session', { 'session.id': 'child', 'hermes.session.id': 'child' }),
    )
    const { port } = await serve({ source: await sourceOf(lines) })
    const { rows } = await data<TraceView>(port, `/api/traces/${'a'.padStart(32, '0')}`)
    expect(rows.map(({ id, childTraces }) => [id, childTraces])).toEqual([
      ['0a', undefined],
      ['0b', ['c'.padStart(32, '0')]],
    ])
  })

  test('is searched whole', async () => {
    const { port } = await serve({ source: sample })
    const found = await data<FoundSpans>(port, `/api/traces/${TRACE_ID}/find?text=RM%20-RF`)
    expect(found.spanIds).toEqual(['0000000000000005', '0000000000000007'])
    expect(await data<FoundSpans>(port, `/api/traces/${TRACE_ID}/find?text=`)).toEqual({ spanIds: [] })
  })

  test.each(['/api/traces/none', `/api/traces/${TRACE_ID}/spans/none`, '/api/sessions/none'])(
    'does not exist for %s',
    async path => {
      const { port } = await serve({ source: sample })
      expect(await ask(port, path)).toMatchObject({
        status: 404,
        body: expect.stringMatching(/^\{"problem":"there is no such /),
      })
    },
  )
})

test.each(['/api/traces/none', '/api/sessions/none'])(
  'is not called missing while the log is still being read: %s',
  async path => {
    const source = { ...NOTHING, status: () => ({ ...NOTHING.status(), bytes: 2000, indexedBytes: 1000 }) }
    const { port } = await serve({ source })
    expect((await ask(port, path)).body).toMatch(
      /^\{"problem":"no such (turn|session) so far: the log is still being read"\}$/,
    )
  },
)

describe('a span', () => {
  const LONG = 'é'.repeat(300_000)
  const span: SpanNote = {
    id: '01',
    name: 'tool.x',
    from: 0,
    to: 1,
    attributes: { 'gen_ai.tool.call.result': LONG, __proto__x: 'x', constructor: 'y', list: ['a', 'b'] },
  }

  test('has truncated long values, and the rest on request', async () => {
    const { port } = await serve({ source: await sourceOf(exportLine(span)) })
    const path = `/api/traces/${TRACE_ID}/spans/01`
    const { attributes } = await data<SpanDetail>(port, path)
    expect(attributes['gen_ai.tool.call.result']).toMatchObject({ length: 300_000 })
    expect(String(attributes['gen_ai.tool.call.result']?.value)).toHaveLength(20_000)
    expect(attributes['list']).toEqual({ value: ['a', 'b'] })
    expect(attributes['constructor']).toEqual({ value: 'y' })
  })

  test('has no attribute that is not its own', async () => {
    const { port } = await serve({ source: await sourceOf(exportLine(span)) })
    const path = `/api/traces/${TRACE_ID}/spans/01?attribute=`
    expect((await ask(port, `${path}toString`)).status).toBe(404)
    expect(await data<ValuePart>(port, `${path}constructor&from=0`)).toEqual({ text: 'y', from: 0, length: 1 })
  })
})

test('lists sessions by filters, in pages', async () => {
  const turn = (number: number, session: string, agent: string): SpanNote => ({
    id: `0${number}`,
    trace: String(number).padStart(32, '0'),
    name: 'agent',
    from: number * 1_000,
    to: number * 1_000 + 500,
    attributes: {
      'session.id': session,
      'hermes.span.kind': 'session',
      'gen_ai.agent.name': agent,
      'input.value': `question${number}`,
    },
  })
  const source = await sourceOf(
    exportLine(turn(1, 'a', 'codex'), turn(2, 'b', 'codex'), turn(3, 'a', 'codex'), turn(4, 'c', 'pi')),
  )
  const { port } = await serve({ source })
  const ids = async (query: string): Promise<string[]> =>
    (await data<SessionPage>(port, `/api/sessions${query}`)).rows.map(({ id }) => id)
  expect(await ids('')).toEqual(['c', 'a', 'b'])
  expect(await ids('?agent=codex')).toEqual(['a', 'b'])
  expect(await ids('?text=question2')).toEqual(['b'])
  expect(await ids(`?since=${TURN_AT + 4_200}`)).toEqual(['c'])
  expect(await ids(`?until=${TURN_AT + 2_500}`)).toEqual(['a', 'b'])
  expect(await ids('?limit=2')).toEqual(['c', 'a'])
  const { session, turns } = await data<SessionDetail>(port, '/api/sessions/a')
  expect([session.turnCount, ...turns.map(({ title }) => title)]).toEqual([2, 'question1', 'question3'])
})

test('lists as many sessions as requested, up to 500', async () => {
  const turn = (number: number): SpanNote => ({
    id: String(number).padStart(16, '0'),
    trace: String(number).padStart(32, '0'),
    name: 'agent',
    from: number,
    to: number,
    attributes: { 'session.id': `s${number}`, 'hermes.span.kind': 'session' },
  })
  const source = await sourceOf(exportLine(...Array.from({ length: 501 }, (_, at) => turn(at + 1))))
  const { port } = await serve({ source })
  const page = (limit: number): Promise<SessionPage> => data(port, `/api/sessions?limit=${limit}`)
  for (const [limit, shown] of Object.entries({ 1: 1, 400: 400, 800: 500 })) {
    const { rows, hasMore } = await page(Number(limit))
    expect([rows.length, hasMore]).toEqual([shown, true])
  }
})

test('has the usage of the requested time', async () => {
  const { port } = await serve({ source: sample })
  const { tools, total } = await data<Usage>(port, '/api/usage?zone=Asia/Kolkata&by=agent')
  expect(tools.map(({ callCount }) => callCount)).toEqual([3])
  expect(total.turnCount).toBe(1)
  expect((await data<Usage>(port, `/api/usage?since=${TURN_AT + 200_000_000}`)).tools).toEqual([])
})

describe('a comparison', () => {
  const other = SAMPLE_TURN.filter(({ name }) => name !== 'tool.read_file').map(note => ({
    ...note,
    id: `f${note.id.slice(1)}`,
    ...(note.parent !== undefined && { parent: `f${note.parent.slice(1)}` }),
    trace: 'f'.repeat(32),
  }))

  test('shows common and separate steps of two turns', async () => {
    const { port } = await serve({ source: await sourceOf(exportLine(...SAMPLE_TURN), exportLine(...other)) })
    const {
      a,
      b,
      rows,
      firstDifference = -1,
    } = await data<Compared>(port, `/api/compare?a=${TRACE_ID}&b=${'f'.repeat(32)}`)
    expect([a.tools, b.tools]).toEqual([3, 2])
    expect(rows[firstDifference]).toMatchObject({
      a: { kind: 'tool', name: 'read_file', hint: 'README.md' },
      differences: [],
    })
    expect(rows[firstDifference]?.b).toBeUndefined()
  })

  test('reports missing turns', async () => {
    const { port } = await serve({ source: sample })
    expect((await ask(port, `/api/compare?a=${TRACE_ID}&b=none`)).status).toBe(404)
    expect((await ask(port, '/api/compare')).status).toBe(404)
  })
})

describe('an export', () => {
  test('is shown before, with the commands that do what a page may not', async () => {
    const { port } = await serve({ source: sample })
    const { lines, commands } = await data<Shared>(port, `/api/export?of=${TRACE_ID}`)
    expect(lines[0]).toMatch(/^13 spans, /)
    expect(commands).toEqual([
      `hookspan export ${TRACE_ID} --format otlp --out traces.jsonl`,
      'hookspan send traces.jsonl --backend NAME',
    ])
  })

  test('is a file, and no page of ours', async () => {
    const { port } = await serve({ source: sample })
    const { status, headers, body } = await ask(port, `/api/export/html?of=${TRACE_ID}`)
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="hookspan-${TRACE_ID}.html"`,
    })
    expect(body).toMatch(/^<!doctype html>/)
  })

  test('has no command for an id that a shell reads otherwise', async () => {
    const note: SpanNote = { id: '01', name: 'agent', from: 0, to: 1, attributes: { 'session.id': '$(rm -rf ~)' } }
    const { port } = await serve({ source: await sourceOf(exportLine(note)) })
    const { commands } = await data<Shared>(port, `/api/export?of=${encodeURIComponent('$(rm -rf ~)')}`)
    expect(commands).toEqual([])
  })
})

describe('live', () => {
  /** The lines of a stream, as they come. */
  async function listen(port: number): Promise<{ lines: LiveLine[]; end(): void }> {
    const ending = new AbortController()
    const response = await fetch(`http://127.0.0.1:${port}/api/live`, {
      headers: { authorization: `Bearer ${TOKEN}` },
      signal: ending.signal,
    })
    if (!response.ok) throw new Error(`answered ${response.status}`)
    const lines: LiveLine[] = []
    const read = async (): Promise<void> => {
      const decoder = new TextDecoder()
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
        for (const line of decoder.decode(piece, { stream: true }).split('\n'))
          if (line) lines.push(JSON.parse(line) as LiveLine)
      }
    }
    read().catch(() => undefined)
    await until(() => lines.length > 0)
    return { lines, end: () => ending.abort() }
  }

  test('shows a span when it begins, and removes it when it has ended', async () => {
    const source = await sourceOf(exportLine(SAMPLE_TURN[0] as SpanNote))
    const { port } = await serve({ source })
    const { lines, end } = await listen(port)
    expect(lines[0]).toMatchObject({ now: NOW, open: [], source: { path: source.path } })
    const open = [3, 4, 11, 12].map(index => SAMPLE_TURN[index] as SpanNote)
    appendFileSync(source.path, `${exportLine(SAMPLE_TURN[1] as SpanNote)}\n${noteLine(...open)}\n`)
    const lastOpen = () => lines.findLast(line => line.open !== undefined)?.open ?? []
    await until(() => lastOpen().length === 1)
    expect(lines.some(({ changed }) => changed?.includes(TRACE_ID))).toBe(true)
    expect(lastOpen()).toMatchObject([
      {
        traceId: TRACE_ID,
        waitingSince: TURN_AT + 4_360,
        silentSince: TURN_AT + 4_360,
        doing: [{ kind: 'approval', hint: 'rm -rf ./build' }],
      },
    ])
    appendFileSync(source.path, `${exportLine(...open)}\n`)
    await until(() => lastOpen().length === 0)
    end()
  })

  test('reports the changes that a slow page missed as one change without ids', async () => {
    let change: Parameters<TraceSource['follow']>[0] = () => undefined
    const source: TraceSource = {
      ...NOTHING,
      follow: listener => {
        change = listener
        return () => undefined
      },
    }
    const { port } = await serve({ source })
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET /api/live HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`)
    await once(socket, 'readable')
    const traceIds = Array.from({ length: 1_000 }, (_, index) => String(index).padStart(32, '0'))
    for (let sent = 0; sent < 1_000; sent++) change({ traceIds, isMore: false })
    let text = ''
    socket.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    await until(() => text.includes('"changed":[]'))
    change({ traceIds: ['last'], isMore: false })
    await until(() => text.includes('"changed":["last"]'))
    change(undefined)
    await until(() => text.endsWith('0\r\n\r\n'))
    socket.destroy()
    expect(text.split('"changed":').length).toBeLessThan(500)
  })

  test('sends nothing more to a page that left, at no cost', async () => {
    const { port, close } = await serve({ source: sample, limits: { streams: 1 } })
    const first = await listen(port)
    expect((await ask(port, '/api/live')).status).toBe(503)
    first.end()
    await until(async () => {
      const second = await listen(port).catch(() => undefined)
      second?.end()
      return second !== undefined
    })
    // Nothing is left that would hold it.
    await close()
  })

  test('does not count a page that left before the log was open', async () => {
    let open: (source: TraceSource) => void = () => undefined
    const source = new Promise<TraceSource>(resolve => {
      open = resolve
    })
    const { port } = await serve({ source, limits: { streams: 1 } })
    const leaving = new AbortController()
    const headers = { authorization: `Bearer ${TOKEN}` }
    const left = fetch(`http://127.0.0.1:${port}/api/live`, { headers, signal: leaving.signal }).catch(() => 'left')
    await new Promise(resolve => setTimeout(resolve, 100))
    leaving.abort()
    expect(await left).toBe('left')
    await new Promise(resolve => setTimeout(resolve, 100))
    open(NOTHING)
    await until(async () => {
      const next = await listen(port).catch(() => undefined)
      next?.end()
      return next !== undefined
    })
  })
})
