/** Two turns side by side, as a person reads them. */
import { describe, expect, test } from 'vitest'
import { compareTraces } from '../../src/reading/compare-traces.ts'
import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import fc from '../support/fast-check.ts'
import { SAMPLE_TURN, storedSpans } from './sample-turn.ts'
import { type Step, text, told, turn, used } from './turn-notes.ts'

/** `~ terminal/Bash arguments`, with two blanks a level. */
function outlineOf(a: readonly TraceTree[], b: readonly TraceTree[]): string[] {
  return compareTraces(a, b).steps.map(({ depth, a: inA, b: inB, differences }) => {
    const mark = inB === undefined ? '-' : inA === undefined ? '+' : differences.length > 0 ? '~' : '='
    const names = [
      ...new Set([inA, inB].map(step => step && (step.name || step.kind)).filter(name => name !== undefined)),
    ]
    return `${'  '.repeat(depth)}${[mark, names.join('/'), ...differences].join(' ')}`
  })
}

describe('the comparison of two turns', () => {
  test('shows a difference at a glance', () => {
    const a = turn('aaaa', [
      ['api.qwen3', used(1_000, 40)],
      ['tool.read_file', told({ path: 'README.md' })],
      ['tool.terminal', told({ command: 'rm -rf ./build', timeout: 10 })],
      ['approval.rm_rf', { parent: 'aaaa2', from: 220, to: 280, attributes: { 'hermes.approval.choice': 'once' } }],
      ['api.qwen3', used(1_200, 60)],
    ])
    const b = turn(
      'bbbb',
      [
        ['api.claude-opus', used(900, 50)],
        ['tool.Bash', told({ cmd: 'rm -rf ./build' })],
        ['tool.Grep', told({ pattern: 'x' })],
        ['api.claude-opus', used(1_300, 70)],
      ],
      { attributes: { 'gen_ai.agent.name': 'claude-code' } },
    )
    expect(text([a], [b])).toBe(`
A  toy · s-aaaa · qwen3                                                2026-11-21 10:15:00 UTC  aaaa
B  claude-code · s-bbbb · claude-opus                                  2026-11-21 10:15:00 UTC  bbbb

                             A       B  change
  active time           440 ms  400 ms  -40 ms (-9 %)
  waiting for approval   60 ms    0 ms  -60 ms (-100 %)
  tokens in              2 200   2 200  =
  tokens out               100     120  +20 (+20 %)
  requests                   2       2  =
  tools                      2       2  =

First difference: only A has read_file  {"path":"README.md"} (3 of 6 steps differ)

                                                                 A       B     A tokens     B tokens
= turn                                                      440 ms  400 ms  2 200 → 100  2 200 → 120
=   request                                                 100 ms  100 ms   1 000 → 40     900 → 50
-   read_file  {"path":"README.md"}                         100 ms       –
~   terminal  Bash in B  {"command":"rm -rf ./build","t…     40 ms  100 ms
+   Grep  {"pattern":"x"}                                        –  100 ms
=   request                                                 100 ms  100 ms   1 200 → 60   1 300 → 70
`)
  })

  test('shows equal turns as equal, whatever their duration', () => {
    const a = turn('aaaa', [
      ['api.m', used(10, 1)],
      ['tool.ls', told({ path: '.' })],
    ])
    const b = turn('bbbb', [
      ['api.other', used(99, 9)],
      ['tool.ls', told({ path: '.' }, { to: 900 })],
    ])
    expect(text([a], [b])).toContain('Both run the same steps.')
    expect(outlineOf([a], [b])).toEqual(['= turn', '  = request', '  = ls'])
  })

  test('shows differing lines of arguments below their step', () => {
    const told1 = told({ path: 'a.ts', old: 'one\ntwo\nthree', all: true })
    const told2 = told({ path: 'a.ts', old: 'one\n2\nthree', all: true })
    const lines = text([turn('aaaa', [['tool.edit', told1]])], [turn('bbbb', [['tool.edit', told2]])], 60).split('\n')
    expect(
      lines.slice(
        lines.findIndex(line => line.startsWith('~')),
        -1,
      ),
    ).toEqual([
      '~   edit  different arguments                 100 ms  100 ms',
      '          one',
      '      -   two',
      '      +   2',
      '          three',
    ])
  })

  test('treats the prompt, an outcome and the number of attempts as differences', () => {
    const failed = { status: 2 as const, attributes: { 'error.type': 'RateLimitError' } }
    const a = turn('aaaa', [['api.m', failed], ['api.m', { attributes: { 'hermes.api.attempt': 1 } }], ['tool.x']], {
      attributes: { 'input.value': 'Why?' },
    })
    const b = turn('bbbb', [['api.m'], ['tool.x', { status: 2 }]], { attributes: { 'input.value': 'How?' } })
    expect(outlineOf([a], [b])).toEqual(['~ turn arguments', '  ~ request attempts', '  ~ x outcome'])
    expect(text([a], [b])).toContain('First difference: turn, different prompt')
    expect(text([a], [b])).toContain('~   request  2 attempts → 1')
  })
})

describe('the pairing of steps', () => {
  const read = (path: string): Step => ['tool.read', told({ path })]

  test('matches by name and arguments before order alone', () => {
    const a = turn('aaaa', [read('1'), read('2'), read('3')])
    const b = turn('bbbb', [read('2'), read('3'), read('4')])
    expect(outlineOf([a], [b])).toEqual(['= turn', '  - read', '  = read', '  = read', '  + read'])
  })

  test('matches by name if the arguments differ, by arguments if the names differ', () => {
    const a = turn('aaaa', [read('1'), ['tool.write', told({ file: 'x', text: 'y' })]])
    const b = turn('bbbb', [read('9'), ['tool.create_file', told({ file_path: 'x', content: 'y' })]])
    expect(outlineOf([a], [b])).toEqual(['= turn', '  ~ read arguments', '  ~ write/create_file name'])
  })

  test('matches child agents, whatever their name and arguments', () => {
    const child = (name: string): Step => [name, told({ [name]: name })]
    const within = (trace: string, tool: string, role: string): TraceTree => {
      const attributes = { 'hermes.span.kind': 'subagent', 'gen_ai.agent.name': role }
      return turn(trace, [child(tool), ['tool.x', { parent: `${trace}0`, attributes }], read('1')])
    }
    expect(
      outlineOf([within('aaaa', 'tool.Agent', 'general-purpose')], [within('bbbb', 'tool.task', 'general')]),
    ).toEqual(['= turn', '  ~ Agent/task name arguments', '    ~ general-purpose/general name', '  = read'])
  })

  test('ignores case and separators in a name', () => {
    const a = turn('aaaa', [['tool.read_file', told({ path: 'a' })]])
    const b = turn('bbbb', [['tool.ReadFile', told({ path: 'b' })]])
    expect(outlineOf([a], [b])).toEqual(['= turn', '  ~ read_file/ReadFile arguments'])
  })

  test('keeps tools without arguments apart', () => {
    const a = turn('aaaa', [['tool.list', told({})]])
    const b = turn('bbbb', [['tool.clock', told({})]])
    expect(outlineOf([a], [b])).toEqual(['= turn', '  - list', '  + clock'])
  })

  test('counts a request with its retries as one, and a child agent, too', () => {
    const one = buildForest(storedSpans(...SAMPLE_TURN))
    expect(outlineOf(one, one)).toEqual([
      '= turn',
      '  = request',
      '  = terminal',
      '  = read_file',
      '  = delegate_task',
      '    = leaf',
      '      = request',
      '  = request',
    ])
    expect(compareTraces(one, one)).toMatchObject({
      firstDifference: undefined,
      a: { retries: 1, requests: 3, errors: 1 },
    })
  })

  test('pairs turns of two sessions by their prompt, then by order', () => {
    const asked = (trace: string, prompt: string, from: number, steps: readonly Step[]): TraceTree =>
      turn(trace, steps, { from, attributes: { 'input.value': prompt, 'session.id': trace.slice(0, 1) } })
    const a = [asked('a1', 'Hello', 0, [['api.m']]), asked('a2', 'Why?', 1_000, [['api.m'], read('1')])]
    const b = [asked('b1', 'Why?', 0, [['api.m'], read('1')]), asked('b2', 'Thanks', 1_000, [['api.m']])]
    expect(outlineOf(a, b)).toEqual(['- turn', '= turn', '  = request', '  = read', '+ turn'])
    expect(text(a, b)).toContain('A  toy · a · m · 2 turns')
    expect(text(a, b)).toContain('- turn  with 1 step  Hello')
  })

  test('includes every step of both once, in its order', () => {
    const step = fc
      .tuple(fc.constantFrom('api.m', 'tool.a', 'tool.b'), fc.constantFrom('1', '2'))
      .map(([name, path]): Step => (name === 'api.m' ? [name] : [name, told({ path })]))
    const steps = fc.array(step, { maxLength: 12 })
    fc.assert(
      fc.property(steps, steps, (inA, inB) => {
        const found = compareTraces([turn('aaaa', inA)], [turn('bbbb', inB)]).steps.slice(1)
        expect(found.flatMap(({ a }) => (a === undefined ? [] : [a.spanId]))).toEqual(
          inA.map((_, index) => `aaaa${index}`),
        )
        expect(found.flatMap(({ b }) => (b === undefined ? [] : [b.spanId]))).toEqual(
          inB.map((_, index) => `bbbb${index}`),
        )
        for (const { a, b } of found) if (a !== undefined && b !== undefined) expect(a.kind).toBe(b.kind)
      }),
    )
  })

  test('needs no table of all pairs for a very long turn', () => {
    const steps = (word: string): Step[] => Array.from({ length: 5_000 }, (_, index) => read(`${word}${index}`))
    const { steps: found } = compareTraces([turn('aaaa', steps('a'))], [turn('bbbb', steps('b'))])
    expect(found).toHaveLength(5_001)
    expect(found.filter(({ differences }) => differences.includes('arguments'))).toHaveLength(5_000)
  })
})
