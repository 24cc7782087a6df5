/** Why a trace took as long as it did, as text: from, to, what was waited for. */
import { describe, expect, test } from 'vitest'
import { criticalPath, pathSums, pathText } from '../../src/reading/critical-path.ts'
import type { StoredSpan } from '../../src/reading/stored-span.ts'
import { asOf, buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import { note, treeOf } from './kind-notes.ts'
import { SAMPLE_TURN, type SpanNote, storedSpans, TURN_AT } from './sample-turn.ts'

function pathOf(...notes: readonly SpanNote[]): string[] {
  return criticalPath(treeOf(...notes)).map(
    ({ span, startAt, endAt, part }) =>
      `${startAt - TURN_AT}-${endAt - TURN_AT} ${span.name}${part === 'you' || part === 'untraced' ? ` (${part})` : ''}`,
  )
}

test('consists of requests, the tools that the next one waited for, the user, and untraced time', () => {
  const path = criticalPath(treeOf(...SAMPLE_TURN))
  const lines = path.map(
    ({ span, startAt, endAt, part }) => `${startAt - TURN_AT}-${endAt - TURN_AT} ${part} ${span.name}`,
  )
  expect(lines).toEqual([
    '0-20 untraced agent',
    '20-50 untraced llm.qwen3-coder-30b',
    '50-410 model api.qwen3-coder-30b',
    '410-2450 untraced llm.qwen3-coder-30b',
    '2450-4300 model api.qwen3-coder-30b',
    '4300-4330 untraced llm.qwen3-coder-30b',
    '4330-4360 tools tool.terminal',
    '4360-9900 you approval.rm_rf',
    '9900-10060 tools tool.terminal',
    '10060-10080 untraced llm.qwen3-coder-30b',
    '10080-10210 tools tool.delegate_task',
    '10210-10250 untraced subagent.leaf',
    '10250-10260 untraced agent',
    '10260-10280 untraced llm.qwen3-coder-30b',
    '10280-12600 model api.qwen3-coder-30b',
    '12600-12620 untraced llm.qwen3-coder-30b',
    '12620-12630 untraced agent',
    '12630-12700 untraced subagent.leaf',
    '12700-12720 tools tool.delegate_task',
    '12720-12800 untraced llm.qwen3-coder-30b',
    '12800-14100 model api.qwen3-coder-30b',
    '14100-14130 untraced llm.qwen3-coder-30b',
    '14130-14150 untraced agent',
  ])
  expect(pathSums(path)).toEqual([
    ['model', 5830],
    ['you', 5540],
    ['tools', 340],
    ['untraced', 2440],
  ])
})

describe('dependencies', () => {
  test('puts siblings that touch exactly in sequence', () => {
    expect(
      pathOf(
        note('root', '', 'other', 0, 30),
        note('a', 'root', 'other', 0, 10),
        note('b', 'root', 'other', 10, 20),
        note('c', 'root', 'other', 20, 30),
      ),
    ).toEqual(['0-10 a', '10-20 b', '20-30 c'])
    expect(
      pathOf(
        note('root', '', 'session', 0, 30),
        note('r1', 'root', 'api', 0, 10),
        note('t', 'r1', 'tool', 10, 20),
        note('r2', 'root', 'api', 20, 30),
      ),
    ).toEqual(['0-10 r1', '10-20 t', '20-30 r2'])
  })

  test('excludes a span without length, which cuts nothing off', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 30),
        note('r1', 'root', 'api', 0, 10),
        note('t0', 'r1', 'tool', 10, 10),
        note('t1', 'r1', 'tool', 10, 20),
        note('t2', 'r1', 'tool', 20, 20),
        note('r2', 'root', 'api', 20, 30),
        note('r3', 'root', 'api', 30, 30),
      ),
    ).toEqual(['0-10 r1', '10-20 t1', '20-30 r2'])
  })

  test('waits for the last of parallel tools; puts a tool that waited for its turn after the previous one', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 50),
        note('r1', 'root', 'api', 0, 10),
        note('short', 'r1', 'tool', 10, 15),
        note('first', 'r1', 'tool', 10, 20),
        note('second', 'r1', 'tool', 20, 38),
        note('r2', 'root', 'api', 40, 50),
      ),
    ).toEqual(['0-10 r1', '10-20 first', '20-38 second', '38-40 root (untraced)', '40-50 r2'])
  })

  test('waits for the longest of parallel tools from its beginning, even if it ends as the next request begins', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 30),
        note('r1', 'root', 'api', 0, 10),
        note('short', 'r1', 'tool', 10, 15),
        note('long', 'r1', 'tool', 10, 20),
        note('r2', 'root', 'api', 20, 30),
      ),
    ).toEqual(['0-10 r1', '10-20 long', '20-30 r2'])
  })

  test('puts a tool after the request that asked for it, whatever its start', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 60),
        note('r1', 'root', 'api', 0, 20),
        note('r2', 'root', 'api', 20, 30),
        note('late', 'r1', 'tool', 25, 49),
        note('asked', 'r2', 'tool', 30, 48),
        note('r3', 'root', 'api', 50, 60),
      ),
    ).toEqual(['0-20 r1', '20-30 r2', '30-48 asked', '48-49 late', '49-50 root (untraced)', '50-60 r3'])
  })

  test('makes a request wait for the tools of the previous one, not for any span that ended just then', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 60),
        note('r1', 'root', 'api', 0, 10),
        note('background', 'r1', 'tool', 10, 49),
        note('r2', 'root', 'api', 20, 30),
        note('asked', 'r2', 'tool', 30, 48),
        note('r3', 'root', 'api', 50, 60),
      ),
    ).toEqual([
      '0-10 r1',
      '10-20 root (untraced)',
      '20-30 r2',
      '30-48 asked',
      '48-49 background',
      '49-50 root (untraced)',
      '50-60 r3',
    ])
  })

  test("puts a tool that begins during its request's stream after the part before it", () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 40),
        note('r1', 'root', 'api', 0, 10),
        note('early', 'r1', 'tool', 6, 30),
        note('r2', 'root', 'api', 30, 40),
      ),
    ).toEqual(['0-6 r1', '6-30 early', '30-40 r2'])
    expect(
      pathOf(
        note('root', '', 'session', 0, 20),
        note('r1', 'root', 'api', 0, 10),
        note('over', 'r1', 'tool', 4, 6),
        note('r2', 'root', 'api', 10, 20),
      ),
    ).toEqual(['0-10 r1', '10-20 r2'])
  })

  test('makes no request wait for a parallel one', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 30),
        note('r1', 'root', 'api', 0, 19),
        note('r2', 'root', 'api', 0, 20),
        note('r3', 'root', 'api', 20, 30),
      ),
    ).toEqual(['0-20 r2', '20-30 r3'])
    expect(
      pathOf(
        note('root', '', 'session', 0, 20),
        note('r1', 'root', 'api', 0, 5),
        note('r2', 'root', 'api', 3, 10),
        note('r3', 'root', 'api', 10, 20),
      ),
    ).toEqual(['0-3 root (untraced)', '3-10 r2', '10-20 r3'])
  })

  test('makes no request wait for an unanswered one', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 30),
        note('r1', 'root', 'api', 0, 20),
        note('r2', 'root', 'api', 5, 28),
        note('r3', 'root', 'api', 20, 30),
      ),
    ).toEqual(['0-20 r1', '20-30 r3'])
  })

  test('assigns tools beside their request to the one before them', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 40),
        note('r1', 'root', 'api', 0, 10),
        note('a', 'root', 'tool', 10, 20),
        note('b', 'root', 'tool', 10, 28),
        note('r2', 'root', 'api', 30, 40),
      ),
    ).toEqual(['0-10 r1', '10-28 b', '28-30 root (untraced)', '30-40 r2'])
  })

  test("fills the loop's gaps with a side call, and no more, though it ends last", () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 50),
        note('loop', 'root', 'llm', 0, 40),
        note('r1', 'loop', 'api', 0, 10),
        note('r2', 'loop', 'api', 20, 40),
        note('compress', 'loop', 'auxiliary', 12, 18),
        note('title', 'root', 'auxiliary', 5, 45),
      ),
    ).toEqual([
      '0-10 r1',
      '10-12 loop (untraced)',
      '12-18 compress',
      '18-20 loop (untraced)',
      '20-40 r2',
      '40-45 title',
      '45-50 root (untraced)',
    ])
  })

  test('waits for a guard in the tool or before the request that it checks', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 50),
        note('rules', 'r1', 'hook', 2, 6),
        note('r1', 'root', 'api', 6, 10),
        note('tool', 'r1', 'tool', 10, 30),
        note('guard', 'tool', 'hook', 11, 15),
        note('r2', 'root', 'api', 30, 50),
        note('judge', 'r2', 'hook', 40, 45),
      ),
    ).toEqual(['0-2 root (untraced)', '2-6 rules', '6-10 r1', '10-11 tool', '11-15 guard', '15-30 tool', '30-50 r2'])
  })

  test('fills the gaps of the tools beside it with a guard', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 50),
        note('r1', 'root', 'api', 0, 10),
        note('tool', 'r1', 'tool', 10, 30),
        note('judge', 'r1', 'hook', 12, 34),
        note('r2', 'root', 'api', 34, 50),
      ),
    ).toEqual(['0-10 r1', '10-30 tool', '30-34 judge', '34-50 r2'])
  })

  test('does not wait for a skill, which lasts until the end of the turn', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 20),
        note('r1', 'root', 'api', 0, 10),
        note('skill', 'root', 'skill', 5, 20),
      ),
    ).toEqual(['0-10 r1', '10-20 root (untraced)'])
  })

  test('waits for background work of an ended parent only if nothing else runs', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 60),
        note('r1', 'root', 'api', 0, 10),
        note('launch', 'r1', 'tool', 10, 12),
        note('child', 'launch', 'subagent', 11, 50),
        note('r2', 'root', 'api', 12, 20),
        note('r3', 'root', 'api', 50, 60),
      ),
    ).toEqual(['0-10 r1', '10-12 launch', '12-20 r2', '20-50 child', '50-60 r3'])
  })

  test('never includes a background child that outlives the turn, nor any of its steps', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 176),
        note('loop', 'root', 'llm', 0, 176),
        note('r1', 'loop', 'api', 0, 27),
        note('tool', 'r1', 'tool', 27, 149),
        note('asked', 'tool', 'approval', 27, 149),
        note('launch', 'r1', 'tool', 150, 151),
        note('child', 'launch', 'subagent', 150, 212),
        note('child turn', 'child', 'session', 152, 210),
        note('c1', 'child turn', 'api', 153, 171),
        note('c2', 'child turn', 'api', 171, 210),
        note('r2', 'loop', 'api', 152, 176),
      ),
    ).toEqual([
      '0-27 r1',
      '27-149 asked (you)',
      '149-150 loop (untraced)',
      '150-151 launch',
      '151-152 loop (untraced)',
      '152-176 r2',
    ])
  })

  test('excludes a background child that ends shortly after the turn', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 40),
        note('loop', 'root', 'llm', 0, 40),
        note('r1', 'loop', 'api', 0, 10),
        note('launch', 'r1', 'tool', 10, 12),
        note('child', 'launch', 'subagent', 11, 41),
        note('r2', 'loop', 'api', 12, 20),
        note('r3', 'loop', 'api', 30, 40),
      ),
    ).toEqual(['0-10 r1', '10-12 launch', '12-20 r2', '20-30 loop (untraced)', '30-40 r3'])
  })

  test('keeps the loop although a background child ends after it', () => {
    expect(
      pathOf(
        note('root', '', 'session', 0, 60),
        note('loop', 'root', 'llm', 0, 40),
        note('r1', 'loop', 'api', 0, 10),
        note('launch', 'r1', 'tool', 10, 12),
        note('child', 'launch', 'subagent', 11, 50),
        note('r2', 'loop', 'api', 12, 40),
      ),
    ).toEqual(['0-10 r1', '10-12 launch', '12-40 r2', '40-50 child', '50-60 root (untraced)'])
  })

  test('cuts spans beyond or outside the root', () => {
    expect(
      pathOf(
        note('root', '', 'session', 10, 30),
        note('late', 'root', 'tool', 20, 90),
        note('off', 'root', 'tool', 40, 50),
      ),
    ).toEqual(['10-20 root (untraced)', '20-30 late'])
  })

  test('does not make the producer of a queued message wait for its consumer', () => {
    const [root, put, take] = storedSpans(
      note('root', '', 'other', 0, 50),
      note('put', 'root', 'other', 0, 20),
      note('take', 'put', 'other', 10, 40),
    ) as [StoredSpan, StoredSpan, StoredSpan]
    const [tree] = buildForest([root, { ...put, kind: 'producer' }, { ...take, kind: 'consumer' }])
    expect(criticalPath(tree as TraceTree).map(({ span }) => span.name)).toEqual(['put', 'root'])
  })

  test('distinguishes a guardian from the user', () => {
    const guardian = note('guardian', 't', 'approval', 2, 4)
    const attributes = { 'hermes.span.kind': 'approval', 'hermes.approval.choice': 'escalated' }
    expect(
      pathOf(
        note('root', '', 'session', 0, 10),
        note('t', 'root', 'tool', 0, 10),
        { ...guardian, attributes },
        note('asked', 't', 'approval', 4, 9),
      ),
    ).toEqual(['0-2 t', '2-4 guardian', '4-9 asked (you)', '9-10 t'])
  })
})

test('is provisional for a running turn, up to now', () => {
  const spans: StoredSpan[] = storedSpans(note('root', '', 'session', 0, 0), note('t', 'root', 'tool', 10, 10)).map(
    span => ({
      ...span,
      running: true,
    }),
  )
  const [tree] = buildForest(spans)
  const path = criticalPath(asOf(tree as TraceTree, TURN_AT + 50))
  expect(pathText(path)).toBe('tools 40 ms, untraced 10 ms')
})

test('has a part for each of several roots, and none between them', () => {
  expect(pathOf(note('one', '', 'session', 0, 10), note('two', '', 'session', 20, 30))).toEqual([
    '0-10 one',
    '20-30 two',
  ])
})
