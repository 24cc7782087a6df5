import { expect, test } from 'vitest'
import { exportLine, type SpanNote, UNPRICED_REQUEST } from '../../reading/sample-turn.ts'
import { LogScene, type Opened } from './index-scene.ts'

async function costOf(attributes: NonNullable<SpanNote['attributes']>, scene = new LogScene()): Promise<unknown> {
  scene.lines('1-1.jsonl', exportLine({ id: 'a', trace: 't1', name: 'api', from: 0, to: 500, attributes }))
  return dollarsIn(priced(scene))
}

function priced(scene: LogScene): Opened {
  return scene.openSubject({ kind: 'log', stateDirectory: scene.stateDirectory, prices: { own: [] } })
}

async function dollarsIn(index: Opened): Promise<unknown> {
  await index.catchUp()
  const { cost } = (await index.turns()).get('t1') ?? {}
  return cost?.paidCount === 0 ? undefined : cost?.dollars
}

test('prices a request that was recorded without a cost', async () => {
  expect(await costOf(UNPRICED_REQUEST)).toBeCloseTo(0.3)
  expect(await costOf({ ...UNPRICED_REQUEST, 'gen_ai.usage.cache_read.input_tokens': 100_000 })).toBeCloseTo(0.03)
})

test('keeps a recorded cost', async () => {
  expect(await costOf({ ...UNPRICED_REQUEST, 'llm.cost.total': 7 })).toBe(7)
})

test('has no cost for unknown models, private servers and spans that are no requests', async () => {
  expect(await costOf({ ...UNPRICED_REQUEST, 'gen_ai.request.model': 'nobody-knows' })).toBeUndefined()
  expect(await costOf({ ...UNPRICED_REQUEST, 'server.address': '127.0.0.1' })).toBeUndefined()
  expect(await costOf({ ...UNPRICED_REQUEST, 'server.address': '::1' })).toBeUndefined()
  expect(await costOf({ ...UNPRICED_REQUEST, 'hermes.span.kind': 'tool' })).toBeUndefined()
})

test('reads the log again if the prices have changed since the snapshot', async () => {
  const scene = new LogScene()
  scene.lines(
    '1-1.jsonl',
    exportLine({ id: 'a', trace: 't1', name: 'api', from: 0, to: 500, attributes: UNPRICED_REQUEST }),
  )
  await scene.indexed()
  const index = priced(scene)
  expect(await dollarsIn(index)).toBeCloseTo(0.3)
})

test('prices the requests of a trace whose lines are read again', async () => {
  const scene = new LogScene()
  const note = { trace: 't1', name: 'api', from: 0, to: 500, attributes: UNPRICED_REQUEST }
  scene.lines('1-1.jsonl', exportLine({ id: 'a', ...note }))
  const first = priced(scene)
  await first.catchUp()
  first.close()
  scene.lines('1-1.jsonl', exportLine({ id: 'b', ...note }))
  expect(await dollarsIn(priced(scene))).toBeCloseTo(0.6)
})
