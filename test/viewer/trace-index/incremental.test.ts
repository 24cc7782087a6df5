/** What is in the index does not depend on how it got there. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { exportLine, noteLine, SAMPLE_TURN, SESSION_ID, type SpanNote, TRACE_ID } from '../../reading/sample-turn.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { LogScene } from './index-scene.ts'

function span(trace: string, id: string, from: number, more: Partial<SpanNote> = {}): SpanNote {
  return { id, trace, name: `tool.${id}`, from, to: from + 100, ...more }
}

function turn(
  trace: string,
  from: number,
  session = 's1',
  more: Readonly<Record<string, string | number>> = {},
): SpanNote {
  return span(trace, 'r', from, {
    name: 'agent',
    attributes: {
      'hermes.span.kind': 'session',
      'session.id': session,
      'hermes.turn.final_status': 'completed',
      ...more,
    },
  })
}

function request(trace: string, id: string, from: number, model = 'm1'): SpanNote {
  const usage = { 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 3, 'llm.cost.total': 0.001 }
  return span(trace, id, from, {
    parent: 'r',
    attributes: { 'hermes.span.kind': 'api', 'session.id': 's1', 'gen_ai.request.model': model, ...usage },
  })
}

/** The same files in an index that knows nothing of how they came to be. */
async function fromNothing(scene: LogScene, names: readonly string[]): Promise<unknown> {
  const other = new LogScene()
  for (const name of names) other.append(name, readFileSync(scene.path(name), 'utf8'))
  await other.indexed()
  return other.contents()
}

test('ends a span that was noted as running', async () => {
  const scene = new LogScene()
  const opened = scene.open()
  scene.lines('1-1.jsonl', noteLine(turn('t1', 0), request('t1', 'a', 10)))
  expect(await opened.catchUp()).toEqual(['t1'])
  const before = (await opened.turns()).get('t1')
  expect(before).toMatchObject({ runningCount: 2, outcome: { text: 'running' } })
  expect((await opened.usage()).groups).toMatchObject([{ requestCount: 0, input: 10 }])
  scene.lines('1-1.jsonl', exportLine(turn('t1', 0), request('t1', 'a', 10)))
  expect(await opened.catchUp()).toEqual(['t1'])
  const after = (await opened.turns()).get('t1')
  expect(after).toMatchObject({ runningCount: 0, outcome: { text: 'completed' }, tokens: { input: 10, output: 3 } })
  expect((await opened.usage()).groups).toMatchObject([{ requestCount: 1, input: 10 }])
  expect(await opened.catchUp()).toEqual([])
  opened.close()
  expect(await scene.contents()).toEqual(await fromNothing(scene, ['1-1.jsonl']))
})

test('counts a line written in parts when it is whole, or when the file ends with it', async () => {
  const scene = new LogScene()
  const opened = scene.open()
  const line = exportLine(turn('t1', 0))
  scene.append('1-1.jsonl', line.slice(0, 40))
  expect(await opened.catchUp()).toEqual([])
  expect([opened.index.isUpToDate, opened.status().bytes]).toEqual([true, 0])
  scene.append('1-1.jsonl', line.slice(40))
  expect(await opened.catchUp()).toEqual(['t1'])
  scene.append('1-1.jsonl', `\n${exportLine(turn('t2', 50))}\n`)
  expect(await opened.catchUp()).toEqual(['t2'])
  expect(opened.status()).toMatchObject({ traceCount: 2, spanCount: 2 })
})

test('removes data of a removed segment that it had alone', async () => {
  const scene = new LogScene()
  scene.lines('1-1.jsonl', exportLine(turn('t1', 0, 'gone'), request('t2', 'a', 510, 'old')), noteLine(turn('t2', 500)))
  scene.lines('2-1.jsonl', exportLine(turn('t2', 500), request('t2', 'b', 520)))
  const opened = scene.open()
  await opened.catchUp()
  expect((await opened.turns()).get('t2')).toMatchObject({ tokens: { input: 20 }, spanCount: 3 })
  scene.remove('1-1.jsonl')
  expect(await opened.catchUp()).toEqual(['t1', 't2'])
  expect(await opened.found({})).toEqual(['s1'])
  expect(await opened.found({ text: 'gone' })).toEqual([])
  expect(await opened.found({ model: 'old' })).toEqual([])
  expect((await opened.turns()).get('t2')).toMatchObject({ tokens: { input: 10 }, spanCount: 2 })
  opened.close()
  expect(await scene.contents()).toEqual(await fromNothing(scene, ['2-1.jsonl']))
})

test.each(['shorter', 'another'])('reads a file again that is %s than before', async how => {
  const scene = new LogScene()
  scene.lines('1-1.jsonl', exportLine(turn('t1', 0)), exportLine(turn('t2', 50)))
  await scene.indexed()
  const lines = [exportLine(turn('t3', 0))]
  if (how === 'another') lines.push(exportLine(turn('t4', 0)), exportLine(turn('t5', 0)))
  scene.replace('1-1.jsonl', lines.map(line => `${line}\n`).join(''))
  const opened = scene.open()
  await opened.catchUp()
  expect([...(await opened.turns()).keys()].toSorted()).toEqual(how === 'another' ? ['t3', 't4', 't5'] : ['t3'])
  opened.close()
  expect(await scene.contents()).toEqual(await fromNothing(scene, ['1-1.jsonl']))
})

test('reads large files from their ends, the newest first, without loss or repetition', async () => {
  const scene = new LogScene()
  const filler = 'x'.repeat(20_000)
  for (const name of ['1-1.jsonl', '2-1.jsonl']) {
    for (let n = 0; n < 120; n++) {
      const at = Number(name[0]) * 1_000_000 + n * 1_000
      const root = turn(`${name[0]}-${n}`, at, `s${n % 7}`, { filler, word: `w${name[0]}x${n}` })
      scene.lines(name, exportLine(request(`${name[0]}-${n}`, 'a', at + 1)), exportLine(root))
    }
  }
  const opened = scene.open()
  await opened.index.step()
  const first = opened.status()
  expect(first.indexedBytes).toBeLessThan(first.bytes / 2)
  expect([...(await opened.turns()).keys()]).toContain('2-119')
  expect([...(await opened.turns()).keys()]).not.toContain('1-0')
  await opened.catchUp()
  const { bytes, indexedBytes, spanCount, indexedSince } = opened.status()
  expect([indexedBytes, spanCount, indexedSince]).toEqual([bytes, 480, undefined])
  expect((await opened.sessions({ text: 'w1x0' })).rows).toMatchObject([{ id: 's0', match: { traceId: '1-0' } }])
  expect((await opened.usage()).groups).toMatchObject([{ requestCount: 240, input: 2400, output: 720 }])
})

test('puts older unread data behind newer ones, and new data in front', async () => {
  const scene = new LogScene()
  const filler = 'x'.repeat(600_000)
  const fill = (name: string, trace: string, count: number): void => {
    for (let n = 0; n < count; n++) scene.lines(name, exportLine(turn(`${trace}${n}`, n, 's1', { filler })))
  }
  fill('1-1.jsonl', 'old', 1)
  await scene.indexed()
  fill('1-1.jsonl', 'grown', 8)
  for (const name of ['2-1.jsonl', '3-1.jsonl']) fill(name, `small${name[0]}`, 1)
  fill('4-1.jsonl', 'newest', 3)
  const opened = scene.open()
  const next = async (): Promise<readonly string[]> => (await opened.index.step())?.traceIds ?? []
  expect(await next()).toEqual(['newest2'])
  scene.lines('1-2.jsonl', exportLine(turn('live', 0)))
  expect(await next()).toEqual(['live'])
  expect((await next()).toSorted()).toEqual(['newest0', 'newest1'])
  expect(await next()).toEqual(['small30'])
  expect(await next()).toEqual(['small20'])
  expect(await next()).toContain('grown0')
  await opened.catchUp()
  expect((await opened.turns()).size).toBe(15)
})

test('gives the same result in any pieces of writing, reading, closing and opening', async () => {
  const ids = ['a', 'b', 'c', 'd']
  const notes = fc.record({
    trace: fc.constantFrom('t1', 't2', 't3'),
    id: fc.constantFrom(...ids),
    isEnded: fc.boolean(),
    from: fc.integer({ min: 0, max: 200_000_000 }),
    model: fc.constantFrom('m1', 'm2'),
  })
  const lines = fc.array(fc.oneof(notes, fc.constant(undefined)), { minLength: 1, maxLength: 12 })
  const acts = fc.array(fc.constantFrom('look', 'close', 'write', 'write half', 'remove'), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(fc.tuple(lines, lines), acts, async (files, todo) => {
      const scene = new LogScene()
      const names = ['1-1.jsonl', '2-1.jsonl']
      const texts = files.map(file => `${file.map(textOf).join('\n')}\n`)
      const written = [0, 0]
      let removed = false
      let opened = scene.open()
      const write = (n: number, share: number): void => {
        const text = texts[n] ?? ''
        const to = Math.ceil((written[n] ?? 0) + (text.length - (written[n] ?? 0)) * share)
        if (!(removed && n === 0)) scene.append(names[n] ?? '', text.slice(written[n], to))
        written[n] = to
      }
      for (const [n, act] of todo.entries()) {
        if (act === 'look') await opened.catchUp()
        else if (act === 'remove' && !removed && (written[0] ?? 0) > 0) {
          scene.remove('1-1.jsonl')
          removed = true
        } else if (act === 'close') {
          opened.close()
          opened = scene.open()
        } else write(n % 2, act === 'write' ? 1 : 0.5)
      }
      for (const n of [0, 1]) write(n, 1)
      await opened.catchUp()
      opened.close()
      expect(await scene.contents()).toEqual(await fromNothing(scene, removed ? names.slice(1) : names))
    }),
    { numRuns: times(10, 200) },
  )
})

test('excludes a segment that is replaced by one of the same length from the next snapshot', async () => {
  const scene = new LogScene()
  const opened = scene.open()
  scene.lines('1-1.jsonl', noteLine(turn('t1', 0)))
  await opened.catchUp()
  scene.remove('1-1.jsonl')
  opened.close()
  scene.lines('2-1.jsonl', noteLine(turn('t1', 0)))
  await scene.indexed()
  expect(await scene.contents()).toEqual(await fromNothing(scene, ['2-1.jsonl']))
})

test('keeps lines of an open turn if one of its segments is removed while the index is closed', async () => {
  const scene = new LogScene()
  scene.lines('1-1.jsonl', noteLine(turn('t1', 0)))
  scene.lines('2-1.jsonl', noteLine(request('t1', 'a', 10)))
  await scene.indexed()
  scene.remove('1-1.jsonl')
  await scene.indexed()
  expect(await scene.contents()).toEqual(await fromNothing(scene, ['2-1.jsonl']))
})

test.each(['open', 'ended'])('does not read the lines of a growing %s turn again at each step', async state => {
  const scene = new LogScene()
  const opened = scene.open()
  const line = state === 'open' ? noteLine : exportLine
  const grow = async (id: string, from: number): Promise<void> => {
    scene.lines('1-1.jsonl', line(request('t1', id, from)))
    await opened.catchUp()
  }
  await grow('a', 10)
  await grow('b', 20)
  // From here on, the first lines cannot be read.
  scene.replace('1-1.jsonl', readFileSync(scene.path('1-1.jsonl'), 'utf8').replaceAll(/[^\n]/g, ' '))
  await grow('c', 30)
  scene.lines('2-1.jsonl', exportLine(turn('t1', 0)))
  await opened.catchUp()
  await grow('d', 40)
  expect((await opened.turns()).get('t1')).toMatchObject({ spanCount: 5, tokens: { input: 40 } })
})

test('omits and repeats nothing of a session whose turns arrive one by one', async () => {
  const scene = new LogScene()
  const opened = scene.open()
  for (let n = 0; n < 5; n++) {
    scene.lines('1-1.jsonl', exportLine(request(`t${n}`, 'a', n * 1_000)), exportLine(turn(`t${n}`, n * 1_000)))
    await opened.catchUp()
    const { rows } = await opened.sessions()
    expect(rows).toMatchObject([{ id: 's1', turnCount: n + 1, tokens: { input: 10 * (n + 1), output: 3 * (n + 1) } }])
  }
})

test('combines a turn that is spread over segments', async () => {
  const scene = new LogScene()
  for (const [n, note] of SAMPLE_TURN.entries()) scene.lines(`${n + 1}-1.jsonl`, exportLine(note))
  const opened = scene.open()
  await opened.catchUp()
  expect((await opened.session(SESSION_ID))?.turns).toMatchObject([
    { traceId: TRACE_ID, spanCount: SAMPLE_TURN.length },
  ])
  expect(await opened.trace(TRACE_ID)).toHaveLength(SAMPLE_TURN.length)
})

interface Noted {
  readonly trace: string
  readonly id: string
  readonly isEnded: boolean
  readonly from: number
  readonly model: string
}

function textOf(noted: Noted | undefined): string {
  if (noted === undefined) return 'no JSON'
  const { trace, id, isEnded, from, model } = noted
  const note = id === 'a' ? turn(trace, from) : request(trace, id, from, model)
  return isEnded ? exportLine(note) : noteLine(note)
}
