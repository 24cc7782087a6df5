import { describe, expect, test } from 'vitest'
import { displayWidth } from '../../src/reading/display-width.ts'
import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import { renderTotals, renderTree, type TreeTextOptions } from '../../src/reading/tree-text.ts'
import fc, { ANY_CHARACTER } from '../support/fast-check.ts'
import { SAMPLE_TURN, type SpanNote, storedSpans } from './sample-turn.ts'

function treeOf(notes: readonly SpanNote[]): TraceTree {
  const [tree] = buildForest(storedSpans(...notes))
  if (tree === undefined) throw new Error('no tree')
  return tree
}

/** A line of the tree below a root, as text of 90 columns, without its bar and what stands left of the name. */
function lineOf(attributes: SpanNote['attributes'], more: Partial<SpanNote> = {}): string {
  const root = { id: '1', name: 'agent', from: 0, to: 1000, attributes: { 'hermes.span.kind': 'session' } }
  const tree = treeOf([
    root,
    { id: '2', parent: '1', name: 'x', from: 0, to: 20, attributes: attributes ?? {}, ...more },
  ])
  const lines = renderTree(tree, { width: 90 }).split('\n')
  const line = (lines.find(each => each.includes('└─')) ?? '').replace(/^[ └─]*/, '')
  return line.replace(/ +[━╸╺─╍╴╶]+(?= )/, '').replace(/ {2,}/g, '  ')
}

describe('the tree in the terminal', () => {
  test('labels background work instead of numbering it', () => {
    const attributes = { 'hermes.span.kind': 'session', 'hermes.session.id': 's1', 'hermes.session.kind': 'background' }
    const [title] = renderTree(treeOf([{ id: '1', name: 'agent', from: 0, to: 9, attributes }]), { width: 90 }).split(
      '\n',
    )
    expect(title).toContain('s1 · background ')
  })

  test('has a waterfall if there is room', () => {
    expect(`\n${renderTree(treeOf(SAMPLE_TURN), { width: 120 })}\n`).toBe(`
● hermes-agent · 20261121_101500_7c41de · turn 1                                                 2026-11-21 10:15:00 UTC
  completed · 14.2 s · 5 230 → 302 tokens, of which 1 176 in sub-agents · 13 spans · 1 error · qwen3-coder-30b  5b8efff7

  agent  Remove the build directory, show me th…  ─────────────────────────────  14.2 s  4 150 → 206  completed
  └─ llm.qwen3-coder-30b                          ─────────────────────────────  14.1 s
     ├─ api.qwen3-coder-30b  Error code: 429 -…   ━                              360 ms               429 RateLimitError
     ├─ api.qwen3-coder-30b  attempt 2  1 228 c…       ━━━━                       1.9 s  1 840 → 148  tool_calls
     │  ├─ tool.terminal  rm -rf ./build                  ╺━━━━━━━━━━━━           5.7 s               completed
     │  │  └─ approval.rm_rf  rm -rf ./build              ╺╍╍╍╍╍╍╍╍╍╍╍╸           5.5 s               once
     │  ├─ tool.read_file  README.md                      ╺                       50 ms               completed
     │  └─ tool.delegate_task                                         ╺━━━━━╸     2.6 s               completed
     │     └─ subagent.leaf  Summarise CHANGELO…                      ╶─────╴     2.5 s               completed
     │        └─ agent                                                 ─────      2.4 s  1 080 → 96   completed
     │           └─ llm.qwen3-coder-30b                                ─────      2.4 s
     │              └─ api.qwen3-coder-30b                             ━━━━━      2.3 s  1 080 → 96   stop
     └─ api.qwen3-coder-30b  1 840 cached                                   ━━━   1.3 s  2 310 → 58   stop
`)
  })

  test('has a narrow waterfall from 60 columns, and tokens beside it only if the names fit', () => {
    const hasBars = (width: number): boolean => renderTree(treeOf(SAMPLE_TURN), { width }).includes('────────')
    expect([59, 60].map(hasBars)).toEqual([false, true])
    expect(`\n${renderTree(treeOf(SAMPLE_TURN), { width: 80 })}\n`).toBe(`
● hermes-agent · 20261121_101500_7c41de · turn 1         2026-11-21 10:15:00 UTC
  completed · 14.2 s · 5 230 → 302 tokens · 13 spans · 1 error · qwen…  5b8efff7

  agent  Remove the build directory, show…  ────────  14.2 s  completed
  └─ llm.qwen3-coder-30b                    ────────  14.1 s
     ├─ api.qwen3-coder-30b  Error code:…   ╸         360 ms  429 RateLimitError
     ├─ api.qwen3-coder-30b  attempt 2  1…   ━╸        1.9 s  tool_calls
     │  ├─ tool.terminal  rm -rf ./build      ━━━━     5.7 s  completed
     │  │  └─ approval.rm_rf  rm -rf ./bu…    ╍╍╍╍     5.5 s  once
     │  ├─ tool.read_file  README.md          ╸        50 ms  completed
     │  └─ tool.delegate_task                    ╺━╸   2.6 s  completed
     │     └─ subagent.leaf  Summarise CH…       ╶─╴   2.5 s  completed
     │        └─ agent                           ╶─╴   2.4 s  completed
     │           └─ llm.qwen3-coder-30b          ╶─╴   2.4 s
     │              └─ api.qwen3-coder-30b       ╺━╸   2.3 s  stop
     └─ api.qwen3-coder-30b  1 840 cached          ━   1.3 s  stop
`)
  })

  test('sums up several traces in one line', () => {
    const tree = treeOf(SAMPLE_TURN)
    expect(renderTotals([tree, tree])).toBe(
      '  2 traces · 28.3 s · 10 460 → 604 tokens, of which 2 352 in sub-agents · 26 spans · 2 errors',
    )
  })

  test.each<[string, SpanNote['attributes'], Partial<SpanNote>, string]>([
    ['a blocked tool', { 'hermes.span.kind': 'tool', 'hermes.tool.outcome': 'blocked' }, {}, 'blocked'],
    [
      'a tool that failed',
      { 'hermes.span.kind': 'tool', 'hermes.tool.outcome': 'error', 'error.type': 'ENOENT' },
      { status: 2 },
      'error ENOENT',
    ],
    [
      'a tool that a control hook has stopped',
      { 'hermes.span.kind': 'tool', 'hermes.tool.outcome': 'blocked', 'hermes.tool.blocked_by': 'no-rm' },
      {},
      'blocked by no-rm',
    ],
    ['a denial', { 'hermes.span.kind': 'approval', 'hermes.approval.choice': 'deny' }, {}, 'deny'],
    [
      'an unanswered approval',
      { 'hermes.span.kind': 'approval', 'hermes.approval.choice': 'deny', 'hermes.approval.timed_out': true },
      {},
      'timed out',
    ],
    ['a failed child', { 'hermes.span.kind': 'subagent', 'hermes.subagent.status': 'failed' }, { status: 2 }, 'failed'],
    ['an error without a type', {}, { status: 2, message: 'it broke' }, 'it broke'],
    ['an error without anything', {}, { status: 2 }, 'error'],
    ['an orphan of ours', { 'hermes.span.incomplete': 'orphaned' }, { status: 0 }, '! orphaned'],
    [
      'a tool of which only the end was seen',
      { 'hermes.span.kind': 'tool', 'hermes.tool.outcome': 'completed', 'hermes.span.retroactive': true },
      {},
      'completed  ~ retroactive',
    ],
    ['weak ids', { 'hermes.correlation': 'inferred' }, {}, '? inferred'],
  ])('shows %s', (_, attributes, more, ending) => {
    expect(lineOf(attributes, more)).toBe(`x  20 ms  ${ending}`)
  })

  test('numbers attempts from 1, and leaves out the first', () => {
    const api = { 'hermes.span.kind': 'api', 'hermes.api.attempt': 2 }
    expect(lineOf(api, { name: 'api.m' })).toBe('api.m  attempt 3  20 ms')
    expect(lineOf({ ...api, 'hermes.api.attempt': 0 }, { name: 'api.m' })).toBe('api.m  20 ms')
  })

  test('shows the reason of a control hook and the rewritten fields', () => {
    const hook = { 'hermes.span.kind': 'hook', 'hermes.hook.verdict': 'block', 'hermes.hook.reason': 'Do not delete.' }
    const name = { name: 'hook.no-rm' }
    expect(lineOf(hook, name)).toBe('hook.no-rm  Do not delete.  20 ms  block')
    const toPerson = { ...hook, 'hermes.hook.detail': 'rm -rf build' }
    expect(lineOf(toPerson, name)).toBe('hook.no-rm  rm -rf build  20 ms  block')
    const rewrite = {
      'hermes.span.kind': 'hook',
      'hermes.hook.verdict': 'rewrite',
      'hermes.hook.rewritten_fields': ['command', 'cwd'],
    }
    expect(lineOf(rewrite, name)).toBe('hook.no-rm  command, cwd  20 ms  rewrite')
    const failed = {
      ...hook,
      'hermes.hook.verdict': 'failed',
      'hermes.hook.failure': 'timed_out',
      'error.type': 'timed_out',
    }
    expect(lineOf(failed, { ...name, status: 2 })).toBe('hook.no-rm  Do not delete.  20 ms  failed: timed_out')
  })

  test('reads the guardrails of other producers', () => {
    const guardrail = { 'openinference.span.kind': 'GUARDRAIL' }
    expect(
      renderTree(treeOf([{ id: '1', name: 'pii', from: 0, to: 5, attributes: guardrail }]), { color: true }),
    ).toContain('\x1b[93mpii')
  })

  test('reads the conventions of other producers', () => {
    const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 7, 'gen_ai.request.model': 'gpt' }
    const finished = { ...chat, 'gen_ai.response.finish_reasons': ['length'] }
    expect(lineOf(finished, { name: 'request' })).toBe('request  gpt  20 ms  7 → –  length')
  })

  test('finds the namespace that the attributes were written under', () => {
    const notes = [
      {
        id: '1',
        name: 'agent',
        from: 0,
        to: 5,
        attributes: { 'my.span.kind': 'session', 'my.turn.final_status': 'reset' },
      },
    ]
    expect(renderTree(treeOf(notes))).toContain('● trace 5b8efff798038103d269b633813fc60c')
    expect(renderTree(treeOf(notes))).toMatch(/agent .* 5 ms {2}reset$/)
  })

  test('marks a missing parent', () => {
    expect(renderTree(treeOf([{ id: '2', parent: '1', name: 'x', from: 0, to: 1 }]))).toMatch(/\? parent missing$/)
  })

  test('counts the levels that it cannot draw', () => {
    const deep = Array.from({ length: 10_000 }, (_, index) => ({
      id: `s${index}`,
      ...(index > 0 && { parent: `s${index - 1}` }),
      name: `n${index}`,
      from: index,
      to: 10_000,
    }))
    const lines = renderTree(treeOf(deep), { width: 80 }).split('\n')
    expect(lines).toHaveLength(10_003)
    expect(lines.at(-1)).toMatch(/^ {2}⋯9989 +└─ n9999 /)
  })
})

describe('colours', () => {
  const kinds = { error: '31', ok: '32', warn: '33' }

  test('distinguishes kind and outcome', () => {
    const text = renderTree(treeOf(SAMPLE_TURN), { width: 120, color: true })
    expect(text).toContain(`\x1b[${kinds.error}m429 RateLimitError\x1b[0m`)
    expect(text).toContain(`\x1b[${kinds.ok}mcompleted\x1b[0m`)
    expect(text).toContain(`\x1b[${kinds.warn}mattempt 2\x1b[0m`)
    expect(text).toContain('\x1b[2mREADME.md\x1b[0m')
  })

  test('changes nothing else', () => {
    const options: TreeTextOptions = { width: 120 }
    const colored = renderTree(treeOf(SAMPLE_TURN), { ...options, color: true })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the escapes are what is taken out
    expect(colored.replace(/\x1b\[\d+m/g, '')).toBe(renderTree(treeOf(SAMPLE_TURN), options))
  })
})

describe('hostile content', () => {
  const hostile = fc.oneof(
    fc.string({ unit: ANY_CHARACTER }),
    fc.constantFrom(
      '\x1b[2J',
      '\x1b]0;t\x07',
      '\u202edrowssap',
      '日本語'.repeat(30),
      '__proto__',
      '👩‍👩‍👧‍👦',
      '\n\r\t',
      '`$(rm)`',
    ),
  )
  const attributes = fc.record({
    'hermes.span.kind': fc.constantFrom('session', 'tool', 'api', 'approval', 'nonsense'),
    'session.id': hostile,
    'gen_ai.agent.name': hostile,
    'hermes.tool.command': hostile,
    'hermes.tool.outcome': hostile,
    'hermes.approval.command': hostile,
    'hermes.span.incomplete': hostile,
    'error.type': hostile,
  })
  const note = fc.record({
    id: fc.constantFrom('1', '2', '3', '4'),
    parent: fc.constantFrom('1', '2', '3', '9'),
    name: hostile,
    message: hostile,
    status: fc.constantFrom(0 as const, 1 as const, 2 as const),
    from: fc.integer({ min: 0, max: 1e9 }),
    to: fc.integer({ min: 0, max: 1e9 }),
    attributes,
  })

  test('does not escape or widen a line', () => {
    const width = fc.integer({ min: 0, max: 180 })
    fc.assert(
      fc.property(fc.array(note, { minLength: 1, maxLength: 6 }), width, (notes, columns) => {
        const text = renderTree(treeOf(notes), { width: columns })
        expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}|\p{Cs}/u)
        for (const line of text.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(20, columns))
      }),
    )
  })
})
