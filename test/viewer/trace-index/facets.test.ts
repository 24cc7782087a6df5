import { beforeEach, describe, expect, test } from 'vitest'
import { SESSION_SORTS, type SessionQuery } from '../../../src/viewer/trace-index/answers.ts'
import { exportLine } from '../../reading/sample-turn.ts'
import { LogScene, type Opened } from './index-scene.ts'

interface Turn {
  readonly session: string
  readonly project: string
  readonly model: string
  readonly cost: number
  readonly status?: 2
}

const TURNS: readonly Turn[] = [
  { session: 's1', project: 'shop', model: 'opus', cost: 3 },
  { session: 's1', project: 'shop', model: 'haiku', cost: 0.5, status: 2 },
  { session: 's2', project: 'shop', model: 'haiku', cost: 5 },
  { session: 's3', project: 'blog', model: 'haiku', cost: 1 },
  { session: 's4', project: '', model: 'opus', cost: 1 },
]

let opened: Opened

beforeEach(async () => {
  const scene = new LogScene()
  const lines = TURNS.map(({ session, project, model, cost, status }, index) =>
    exportLine({
      id: '1',
      trace: `f${index}`.repeat(16),
      name: 'agent',
      from: index * 1000,
      to: index * 1000 + 100,
      attributes: {
        'hermes.span.kind': 'session',
        'session.id': session,
        'gen_ai.request.model': model,
        'llm.cost.total': cost,
        'gen_ai.usage.input_tokens': index * 10,
        ...(project !== '' && { 'vcs.repository.name': project, 'hermes.workspace.directory': 'ignored' }),
      },
      ...(status !== undefined && { status }),
    }),
  )
  scene.lines('1000-1.jsonl', ...lines)
  opened = scene.open()
  await opened.catchUp()
})

const idsOf = async (query: SessionQuery): Promise<string[]> => (await opened.sessions(query)).rows.map(({ id }) => id)

describe('facets', () => {
  test('count the sessions that meet the other conditions', async () => {
    const { facets } = await opened.sessions({ hasFacets: true, model: 'haiku' })
    expect(facets).toMatchObject({
      project: [
        ['shop', 2],
        ['blog', 1],
      ],
      model: [
        ['haiku', 3],
        ['opus', 2],
      ],
      branch: [],
      outcome: [['error', 1]],
    })
  })

  test('count among the sessions that contain the text, whatever value is chosen', async () => {
    const { rows, facets } = await opened.sessions({ hasFacets: true, text: 'haiku', project: 'blog' })
    expect(rows.map(({ id }) => id)).toEqual(['s3'])
    expect(facets?.project).toEqual([
      ['shop', 2],
      ['blog', 1],
    ])
    expect(facets?.model).toEqual([['haiku', 1]])
  })

  test('keep a chosen value that nothing has', async () => {
    const { facets } = await opened.sessions({ hasFacets: true, project: 'gone' })
    expect(facets?.project).toEqual([
      ['shop', 2],
      ['blog', 1],
      ['gone', 0],
    ])
  })

  test('are absent unless the query asks for them', async () => {
    expect((await opened.sessions({})).facets).toBeUndefined()
  })
})

test('selects sessions by project', async () => {
  expect(await idsOf({ project: 'shop' })).toEqual(['s2', 's1'])
  expect((await opened.sessions({ project: 'blog' })).rows[0]).toMatchObject({ project: 'blog', branch: '' })
})

test('sorts sessions by a sum of their turns', async () => {
  expect(await idsOf({ sort: 'cost' })).toEqual(['s2', 's1', 's4', 's3'])
  expect(await idsOf({ sort: 'cost', isAscending: true })).toEqual(['s3', 's4', 's1', 's2'])
  expect((await idsOf({ sort: 'turns' }))[0]).toBe('s1')
})

test.each(SESSION_SORTS)('lists by %s in both directions', async sort => {
  expect(await idsOf({ sort, isAscending: true })).toEqual((await idsOf({ sort })).toReversed())
})
