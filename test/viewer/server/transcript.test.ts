import { expect, test } from 'vitest'
import { failureTail } from '../../../src/reading/failure-tail.ts'
import type { TranscriptStep } from '../../../src/viewer/server/api.ts'
import { treeOf } from '../../../src/viewer/server/trace-view.ts'
import { transcriptOf } from '../../../src/viewer/server/transcript.ts'
import { SAMPLE_TURN, type SpanNote, storedSpans } from '../../reading/sample-turn.ts'

function transcript(...notes: readonly SpanNote[]) {
  return transcriptOf(treeOf(storedSpans(...notes)), 'open', 1_000, new Map())
}

function names(steps: readonly TranscriptStep[]): string[] {
  return steps.map(({ kind, name }) => `${kind} ${name}`)
}

test('lists requests, tools and approvals of a turn, with a child agent as one step', () => {
  const { steps } = transcript(...SAMPLE_TURN)
  const agents = steps.filter(({ agent }) => agent !== undefined)
  expect(agents).toHaveLength(1)
  expect(names(steps).slice(0, 4)).toEqual([
    'api api.qwen3-coder-30b',
    'api api.qwen3-coder-30b',
    'tool tool.terminal',
    'approval approval.rm_rf',
  ])
  expect(steps[0]?.failure?.value).toBe('Error code: 429 - rate limit reached, retry in 2s')
  expect(steps[3]?.decidedBy).toBe('you')
  expect(names(agents[0]?.agent?.steps ?? [])).toContain('api api.qwen3-coder-30b')
})

test('marks tools that ran in parallel, but not a tool within another', () => {
  const tool = (id: string, from: number, to: number, parent = '1'): SpanNote => {
    return { id, parent, name: `tool.${id}`, from, to, attributes: { 'hermes.span.kind': 'tool' } }
  }
  const root: SpanNote = { id: '1', name: 'agent', from: 0, to: 900, attributes: { 'hermes.span.kind': 'session' } }
  const notes = [tool('2', 10, 60), tool('3', 20, 40), tool('4', 60, 200), tool('5', 70, 90, '4')]
  const { steps } = transcript(root, ...notes)
  expect(steps.map(({ name, isParallel }) => `${name} ${isParallel ?? false}`)).toEqual([
    'tool.2 true',
    'tool.3 true',
    'tool.4 false',
    'tool.5 false',
  ])
  expect(steps.map(({ parallel }) => parallel)).toEqual([
    { count: 2, millis: 50, sumMillis: 70 },
    undefined,
    undefined,
    undefined,
  ])
})

test('reports that no content was captured', () => {
  const root: SpanNote = { id: '1', name: 'agent', from: 0, to: 9, attributes: { 'hermes.span.kind': 'session' } }
  expect(transcript(root).hasContent).toBe(false)
  const asked = { ...root, attributes: { ...root.attributes, 'input.value': 'Why?' } }
  expect(transcript(asked)).toMatchObject({ hasContent: true, question: { value: 'Why?' } })
})

test('nests a bounded number of agents', () => {
  const chain = Array.from({ length: 3_000 }, (_, index): SpanNote => {
    const id = String(index + 1)
    const attributes = { 'hermes.span.kind': 'subagent' }
    return { id, ...(index > 0 && { parent: String(index) }), name: 'subagent.x', from: index, to: 9_000, attributes }
  })
  expect(JSON.stringify(transcript(...chain)).match(/"steps":/g)?.length).toBeLessThan(20)
})

test('ends a failure with the last twelve lines of its output', () => {
  const output = Array.from({ length: 40 }, (_, index) => `line ${index}`).join('\n')
  const tail = failureTail('exit code 1', JSON.stringify({ output, error: 'exit code 1', exit_code: 1 }))
  expect(tail.split('\n')).toEqual(['exit code 1', ...output.split('\n').slice(-12)])
  expect(failureTail('exit code 1', 'exit code 1')).toBe('exit code 1')
  expect(failureTail('', output).split('\n')).toHaveLength(12)
})
