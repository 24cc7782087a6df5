import { expect, test } from 'vitest'
import { openPipeline, type pipelineSettings, startSpan } from './pipeline-fixture.ts'

interface Ids {
  readonly trace: string
  readonly span: string
}

function idsOf(seeds: readonly (readonly [trace: string, span: string] | undefined)[]): Ids[] {
  const pipeline = openPipeline({ deterministicIds: true })
  let parent: ReturnType<typeof startSpan> | undefined
  return seeds.map(seed => {
    if (seed) pipeline.seedIds?.(...seed)
    const span = startSpan(pipeline, 'any', parent)
    parent ??= span
    const { traceId, spanId } = span.spanContext()
    return { trace: traceId, span: spanId }
  })
}

test('derives the same ids from the same identities in any process', () => {
  const seeds = [
    ['turn 1', 'root'],
    ['turn 1', 'api'],
    ['turn 1', 'tool'],
  ] as const
  expect(idsOf(seeds)).toEqual(idsOf(seeds))
  expect(idsOf([['turn 1', 'root']])[0]).toEqual({
    trace: expect.stringMatching(/^[0-9a-f]{32}$/),
    span: expect.stringMatching(/^[0-9a-f]{16}$/),
  })
  const [root, api, tool] = idsOf(seeds)
  expect(new Set([root?.span, api?.span, tool?.span]).size).toBe(3)
  expect(api?.trace).toBe(root?.trace)
})

test('derives different ids from different identities', () => {
  const ids = [
    ['a', 'bc'],
    ['ab', 'c'],
    ['b', 'bc'],
    ['a', 'b'],
  ].map(seed => idsOf([seed as [string, string]])[0])
  expect(new Set(ids.map(id => id?.trace)).size).toBe(3)
  expect(new Set(ids.map(id => id?.span)).size).toBe(4)
})

test('applies a seed to one span', () => {
  const [first, second] = idsOf([['a', 'b'], undefined])
  expect(second?.span).not.toBe(first?.span)
  expect(idsOf([['a', 'b'], undefined])[1]?.span).not.toBe(second?.span)
})

test('does not apply the seed of a child span to the next root', () => {
  const pipeline = openPipeline({ deterministicIds: true })
  const root = startSpan(pipeline, 'root')
  pipeline.seedIds?.('turn', 'child')
  startSpan(pipeline, 'child', root)
  const other = openPipeline({ deterministicIds: true })
  other.seedIds?.('turn', 'x')
  expect(startSpan(pipeline, 'next').spanContext().traceId).not.toBe(startSpan(other, 'x').spanContext().traceId)
})

test('names no process in the resource with deterministic ids', async () => {
  const overrides: Partial<ReturnType<typeof pipelineSettings>> = { deterministicIds: true }
  expect(openPipeline({}).seedIds).toBeUndefined()
  const span = startSpan(openPipeline(overrides), 'one') as unknown as { resource: { attributes: object } }
  expect(
    Object.keys(span.resource.attributes).filter(key => /^(?:process|host|os|service\.instance)/.test(key)),
  ).toEqual([])
})
