import { expect, test } from 'vitest'
import { exportLine, type SpanNote } from '../../reading/sample-turn.ts'
import { LogScene } from './index-scene.ts'

function turn(trace: string, session: string, from: number): SpanNote {
  const attributes = { 'acme.span.kind': 'session', 'acme.session.id': session }
  return { id: '1', trace, name: 'agent', from, to: from + 10, attributes }
}

test('finds the traces of a session that a span has begun as its children, except those of the same trace', async () => {
  const scene = new LogScene()
  const delegation = (id: string, child: string): SpanNote => ({
    id,
    parent: '1',
    trace: 'parent',
    name: 'subagent',
    from: 1,
    to: 9,
    attributes: { 'acme.span.kind': 'subagent', 'acme.subagent.child_session_id': child, 'acme.session.id': 'outer' },
  })
  scene.lines('1-1.jsonl', exportLine(turn('parent', 'outer', 0), delegation('2', 'inner'), delegation('3', 'none')))
  scene.lines('1-1.jsonl', exportLine({ ...turn('parent', 'own', 2), id: '4', parent: '3' }, delegation('5', 'own')))
  scene.lines('2-1.jsonl', exportLine(turn('child-2', 'inner', 5)), exportLine(turn('child-1', 'inner', 3)))
  const opened = scene.open()
  await opened.catchUp()
  expect(await opened.children('parent')).toEqual(new Map([['2', ['child-1', 'child-2']]]))
  expect(await opened.children('child-1')).toEqual(new Map())
  expect(await opened.children("'; DROP TABLE span; --")).toEqual(new Map())
})

test('finds a trace as a child that names a span of another one as its origin', async () => {
  const scene = new LogScene()
  const link = (traceId: string, spanId: string, kind: string): unknown => ({
    traceId,
    spanId,
    attributes: [{ key: 'acme.link', value: { stringValue: kind } }],
  })
  const linked = (note: SpanNote, ...links: readonly unknown[]): string => {
    const request = JSON.parse(exportLine(note)) as { resourceSpans: { scopeSpans: { spans: object[] }[] }[] }
    return JSON.stringify(request, (key, value: unknown) =>
      key === 'spans' ? (value as object[]).map(span => ({ ...span, links })) : value,
    )
  }
  const before = link('parent', '9', 'previous_turn')
  scene.lines('1-1.jsonl', exportLine(turn('parent', 'outer', 0)))
  scene.lines('1-1.jsonl', linked(turn('c2', 'inner', 8), before, link('parent', '7', 'parent')))
  scene.lines('1-1.jsonl', linked(turn('c1', 'inner', 6), link('parent', '7', 'parent')))
  scene.lines('1-1.jsonl', linked(turn('c3', 'inner', 9), before))
  scene.lines('1-1.jsonl', linked(turn('c4', 'inner', 9), link('parents', '7', 'parent')))
  const opened = scene.open()
  await opened.catchUp()
  expect(await opened.children('parent')).toEqual(new Map([['7', ['c1', 'c2']]]))
})
