/** Equal calls as one row, and what a span comes to with all below it. */
import { describe, expect, test } from 'vitest'
import { foldRepeats, isFolded, subtreeSums } from '../../src/reading/fold-repeats.ts'
import { namespaceOfTree } from '../../src/reading/span-attributes.ts'
import { buildForest, type TraceTree, walkTree } from '../../src/reading/trace-forest.ts'
import { SAMPLE_TURN, type SpanNote, storedSpans } from './sample-turn.ts'

function tool(id: string, name: string, more: Partial<SpanNote> = {}): SpanNote {
  const attributes = { 'hermes.span.kind': 'tool', 'hermes.tool.outcome': 'completed', ...more.attributes }
  const at = Number.parseInt(id, 36)
  return { id, parent: 'root', name: `tool.${name}`, from: at, to: at + 10, ...more, attributes }
}

const ROOT: SpanNote = { id: 'root', name: 'agent', from: 0, to: 9_999, attributes: { 'hermes.span.kind': 'session' } }

function treeOf(...notes: readonly SpanNote[]): TraceTree {
  return buildForest(storedSpans(ROOT, ...notes))[0] as TraceTree
}

/** `read ×5 completed`, `read a`. */
function rowsOf(tree: TraceTree): string[] {
  const options = { namespace: namespaceOfTree(tree), sums: subtreeSums(tree) }
  return foldRepeats(tree.roots[0]?.children ?? [], options).map(row =>
    isFolded(row) ? `${row.name} ×${row.calls.length} ${row.outcome}` : `${row.span.name} ${row.span.spanId}`,
  )
}

const reads = (ids: string, more: Partial<SpanNote> = {}): SpanNote[] => [...ids].map(id => tool(id, 'read', more))

describe('adjacent calls of one tool', () => {
  test('makes one row from five on, with sum and longest', () => {
    const tree = treeOf(...reads('abcd'), tool('e', 'read', { to: 514 }), tool('f', 'grep'))
    expect(rowsOf(tree)).toEqual(['tool.read ×5 completed', 'tool.grep f'])
    const [row] = foldRepeats(tree.roots[0]?.children ?? [], { namespace: 'hermes', sums: subtreeSums(tree) })
    expect(row).toMatchObject({ totalMillis: 540, longestMillis: 500, sum: { spanCount: 5, errorCount: 0 } })
    expect(rowsOf(treeOf(...reads('abcd')))).toHaveLength(4)
  })

  test('makes two rows with another call between them', () => {
    expect(rowsOf(treeOf(...reads('abcde'), tool('f', 'grep'), ...reads('ghijkl')))).toEqual([
      'tool.read ×5 completed',
      'tool.grep f',
      'tool.read ×6 completed',
    ])
  })

  test('shows calls with another outcome separately', () => {
    const blocked = reads('fghij', { attributes: { 'hermes.tool.outcome': 'blocked' } })
    expect(rowsOf(treeOf(...reads('abcde'), ...blocked))).toEqual(['tool.read ×5 completed', 'tool.read ×5 blocked'])
  })

  test.each<[string, readonly SpanNote[]]>([
    ['failed', [tool('c', 'read', { status: 2 })]],
    ['in which something has', [tool('c', 'read'), { ...tool('z', 'inner', { status: 2 }), parent: 'c' }]],
    ['with a mark of its own', [tool('c', 'read', { attributes: { 'hermes.span.incomplete': 'turn_ended' } })]],
  ])('shows a call separately: %s', (_, notes) => {
    expect(rowsOf(treeOf(...reads('ab'), ...notes, ...reads('defgh')))).toEqual([
      'tool.read a',
      'tool.read b',
      'tool.read c',
      'tool.read ×5 completed',
    ])
  })

  test('does not fold a running call', () => {
    const spans = storedSpans(ROOT, ...reads('abcdef')).map(span =>
      span.spanId === 'f' ? { ...span, running: true as const } : span,
    )
    expect(rowsOf(buildForest(spans)[0] as TraceTree)).toEqual(['tool.read ×5 completed', 'tool.read f'])
  })

  test('never folds requests', () => {
    const requests = [...'abcdef'].map(id => ({ ...tool(id, 'm'), attributes: { 'hermes.span.kind': 'api' } }))
    expect(rowsOf(treeOf(...requests))).toHaveLength(6)
  })
})

test('sums the requests of a span, each once, with its wall time', () => {
  const tree = buildForest(storedSpans(...SAMPLE_TURN))[0] as TraceTree
  const sums = subtreeSums(tree)
  const figures = [...walkTree(tree)].map(({ node, depth }) => {
    const sum = sums.get(node)
    if (sum === undefined) throw new Error('no sum')
    const { spanCount, errorCount, inputTokens, outputTokens, startAt, endAt } = sum
    return `${'  '.repeat(depth)}${node.span.name} ${spanCount} ${errorCount} ${inputTokens} ${outputTokens} ${endAt - startAt}`
  })
  expect(figures).toEqual([
    'agent 13 1 5230 302 14150',
    '  llm.qwen3-coder-30b 12 1 5230 302 14110',
    '    api.qwen3-coder-30b 1 1 0 0 360',
    '    api.qwen3-coder-30b 9 0 2920 244 10270',
    '      tool.terminal 2 0 0 0 5730',
    '        approval.rm_rf 1 0 0 0 5540',
    '      tool.read_file 1 0 0 0 50',
    '      tool.delegate_task 5 0 1080 96 2640',
    '        subagent.leaf 4 0 1080 96 2490',
    '          agent 3 0 1080 96 2380',
    '            llm.qwen3-coder-30b 2 0 1080 96 2360',
    '              api.qwen3-coder-30b 1 0 1080 96 2320',
    '    api.qwen3-coder-30b 1 0 2310 58 1300',
  ])
})
