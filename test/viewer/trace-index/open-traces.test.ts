/** What is open right now, of every process: open, its owner dead, ended; and whether a person is waited for. */
import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { thisOwner } from '../../../src/delivery/trace-log/index.ts'
import { type OpenState, openTurns } from '../../../src/reading/open-turns.ts'
import { selectTraces } from '../../../src/reading/trace-log.ts'
import { stateOf } from '../../../src/viewer/page/open-traces.ts'
import { deadOwner, leave } from '../../delivery/trace-log/checkpoint-fixture.ts'
import { exportLine, noteLine, type SpanNote, TURN_AT } from '../../reading/sample-turn.ts'
import { LogScene, type Opened } from './index-scene.ts'

type Told = NonNullable<SpanNote['attributes']>

const own = (kind: string, more: Told = {}): Told => ({
  'hermes.span.kind': kind,
  'session.id': 's1',
  ...more,
})
const ROOT: SpanNote = {
  id: '1',
  trace: 't1',
  name: 'agent',
  from: 0,
  to: 0,
  attributes: own('session', { 'gen_ai.agent.name': 'toy', 'input.value': 'Ship it' }),
}
const TOOL: SpanNote = {
  id: '2',
  parent: '1',
  trace: 't1',
  name: 'tool.terminal',
  from: 500,
  to: 500,
  attributes: own('tool', { 'hermes.tool.command': 'npm test' }),
}
const APPROVAL: SpanNote = {
  id: '3',
  parent: '2',
  trace: 't1',
  name: 'approval.rm',
  from: 600,
  to: 600,
  attributes: own('approval', { 'hermes.approval.command': 'rm -rf build' }),
}
const SEGMENT = '1000-1'
const FILE = `${SEGMENT}.jsonl`

async function opened(scene: LogScene): Promise<Opened> {
  const index = scene.open()
  await index.catchUp()
  return index
}

test("names an open turn by its loop's prompt, because its root has one only at its end", async () => {
  const scene = new LogScene()
  const { attributes: _, ...told } = ROOT
  const root = { ...told, attributes: own('session') }
  const loop = { ...TOOL, name: 'llm.qwen3', attributes: own('llm', { 'input.value': 'Is anybody there?' }) }
  scene.lines(FILE, noteLine(root, loop))
  leave(scene.stateDirectory, { owner: thisOwner(), segment: SEGMENT })
  const { index } = await opened(scene)
  expect(index.openTraces).toMatchObject([{ title: 'Is anybody there?' }])
})

test('shows spans noted by a live process as open, with the current step', async () => {
  const scene = new LogScene()
  scene.lines(FILE, noteLine(ROOT, TOOL), exportLine({ ...TOOL, id: '4', from: 100, to: 400 }))
  leave(scene.stateDirectory, { owner: thisOwner(), segment: SEGMENT })
  const { index } = await opened(scene)
  expect(index.openTraces).toEqual([
    {
      traceId: 't1',
      sessionId: 's1',
      agent: 'toy',
      model: '',
      title: 'Ship it',
      sessionTitle: 'Ship it',
      state: 'open',
      isOwnerAlive: true,
      startAt: TURN_AT,
      openSince: TURN_AT,
      silentSince: TURN_AT + 500,
      waitingSince: undefined,
      tokens: undefined,
      doing: [{ spanId: '2', kind: 'tool', name: 'tool.terminal', hint: 'npm test', startAt: TURN_AT + 500 }],
      cost: { dollars: 0, paidCount: 0, unknownCount: 0 },
      contextUsed: undefined,
      minutes: [],
    },
  ])
})

test('names a turn by its prompt, also if its root is in a line of more than 1 MiB', async () => {
  const scene = new LogScene()
  const big = { ...TOOL, to: 600, attributes: own('tool', { 'gen_ai.tool.call.result': 'x'.repeat(1_200_000) }) }
  scene.lines(FILE, exportLine({ ...ROOT, to: 900 }, big))
  const index = await opened(scene)
  expect((await index.sessions()).rows).toMatchObject([{ title: 'Ship it' }])
})

test('waits for the user as long as a question is open, whatever runs beside it', async () => {
  const scene = new LogScene()
  leave(scene.stateDirectory, { owner: thisOwner(), segment: SEGMENT })
  scene.lines(FILE, noteLine(ROOT, TOOL, APPROVAL))
  const index = await opened(scene)
  expect(index.index.openTraces).toMatchObject([{ waitingSince: TURN_AT + 600, doing: [{ hint: 'rm -rf build' }] }])
  expect((await index.sessions()).rows).toMatchObject([{ state: 'open', isWaitingForPerson: true }])
  scene.lines(FILE, noteLine({ ...TOOL, id: '5', from: 700, to: 700 }))
  await index.catchUp()
  expect(index.index.openTraces).toMatchObject([{ waitingSince: TURN_AT + 600, silentSince: TURN_AT + 700 }])
  expect((await index.sessions()).rows).toMatchObject([{ isWaitingForPerson: true }])
  scene.lines(FILE, exportLine({ ...APPROVAL, to: 5_600 }, { ...TOOL, to: 6_000 }, { ...TOOL, id: '5', to: 900 }))
  await index.catchUp()
  expect(index.index.openTraces).toMatchObject([{ waitingSince: undefined, doing: [{ spanId: '1' }] }])
  scene.lines(FILE, exportLine({ ...ROOT, to: 6_100 }))
  await index.catchUp()
  expect(index.index.openTraces).toEqual([])
  expect((await index.session('s1'))?.turns).toMatchObject([{ state: 'ended', waitedMillis: 5_000 }])
  expect((await index.usage()).tools[0]?.latency.p99).toBeLessThan(1_000)
})

test('has the tokens of the last minutes, the context used, and the whole command of a question', async () => {
  const scene = new LogScene()
  const command = 'git push \\\n  --force'
  const approval = { ...APPROVAL, attributes: own('approval', { 'hermes.approval.command': command }) }
  const request = (id: string, to: number, usedRatio: number, kind = 'api'): SpanNote => ({
    ...TOOL,
    id,
    to,
    attributes: own(kind, { 'gen_ai.usage.input_tokens': 100, 'hermes.context.used_ratio': usedRatio }),
  })
  const minute = Math.floor(TURN_AT / 60_000)
  const requests = [request('6', 1_000, 0.2), request('7', 2_000, 0.4), request('8', 3_600_000, 0.9, 'auxiliary')]
  scene.lines(FILE, noteLine(ROOT, TOOL, approval), exportLine(...requests))
  leave(scene.stateDirectory, { owner: thisOwner(), segment: SEGMENT })
  const [trace] = (await opened(scene)).index.openTraces
  expect(trace).toMatchObject({ contextUsed: 0.4, doing: [{ command }] })
  expect(trace?.minutes).toEqual([
    [minute, 200],
    [minute + 60, 100],
  ])
})

test('does not treat a guardian model as the user', async () => {
  const scene = new LogScene()
  const guardian = { ...APPROVAL, attributes: own('approval', { 'hermes.approval.surface': 'smart' }) }
  scene.lines(FILE, noteLine(ROOT, TOOL, guardian))
  leave(scene.stateDirectory, { owner: thisOwner(), segment: SEGMENT })
  const index = await opened(scene)
  expect(index.index.openTraces).toMatchObject([{ waitingSince: undefined, doing: [{ spanId: '3' }] }])
  expect(index.index.openTraces[0]?.doing[0]).not.toHaveProperty('command')
  const choice = own('approval', { 'hermes.approval.choice': 'smart_approve' })
  scene.lines(
    FILE,
    exportLine({ ...guardian, to: 5_600, attributes: choice }, { ...TOOL, to: 6_000 }, { ...ROOT, to: 6_100 }),
  )
  await index.catchUp()
  expect((await index.session('s1'))?.turns).toMatchObject([{ state: 'ended', waitedMillis: 0 }])
  expect((await index.usage()).tools[0]?.latency.p99).toBeGreaterThan(5_000)
})

test.each<[string, OpenState, readonly SpanNote[]]>([
  ['a tool', 'running', [ROOT, TOOL]],
  ['a tool, for a long time', 'hung', [ROOT, TOOL].map(each => ({ ...each, from: each.from - 200_000 }))],
  ['a question', 'waiting', [ROOT, TOOL, APPROVAL]],
  ['a question beside a tool', 'waiting', [ROOT, TOOL, APPROVAL, { ...TOOL, id: '5' }]],
  ['a question, for a long time', 'waiting', [ROOT, APPROVAL].map(each => ({ ...each, from: each.from - 200_000 }))],
  [
    'a guardian',
    'running',
    [ROOT, { ...APPROVAL, attributes: own('approval', { 'hermes.approval.surface': 'smart' }) }],
  ],
])('gives %s the state %s on the page and in the terminal', async (_, state, notes) => {
  const now = TURN_AT + 2_000
  const scene = new LogScene()
  scene.lines(FILE, noteLine(...notes))
  leave(scene.stateDirectory, { owner: thisOwner(), segment: SEGMENT })
  const { index } = await opened(scene)
  const trees = (await selectTraces([scene.path(FILE)], { last: 1 })).trees
  expect([
    ...index.openTraces.map(each => stateOf(each, now)),
    ...openTurns(trees, now).map(each => each.state),
  ]).toEqual([state, state])
})

test('shows a turn as open, and its process not as exited, before its owner was checked', async () => {
  const scene = new LogScene()
  scene.lines(FILE, noteLine(ROOT, TOOL))
  leave(scene.stateDirectory, { owner: thisOwner(), segment: SEGMENT })
  const index = scene.open()
  await index.index.step()
  expect(index.index.openTraces).toEqual([])
  const unknown = { state: 'open', isOwnerAlive: false, isWaitingForPerson: false }
  expect((await index.sessions()).rows).toMatchObject([unknown])
  expect((await index.session('s1'))?.turns).toMatchObject([unknown])
  await index.catchUp()
  expect((await index.sessions()).rows).toMatchObject([{ state: 'open', isOwnerAlive: true }])
})

test.each([
  ['dead', () => ({ owner: deadOwner(), segment: SEGMENT })],
  ['free', () => ({ segment: SEGMENT })],
  ['of another segment', () => ({ owner: thisOwner(), segment: '1001-1' })],
])('finds no owner for spans noted by a process that is %s', async (_, leftover) => {
  const scene = new LogScene()
  scene.lines(FILE, noteLine(ROOT, TOOL))
  leave(scene.stateDirectory, leftover())
  const index = await opened(scene)
  expect(index.index.openTraces).toMatchObject([{ traceId: 't1', state: 'owner-dead' }])
  expect((await index.sessions()).rows).toMatchObject([{ state: 'owner-dead', isWaitingForPerson: false }])
})

test('notices the end of the owner without a line in the log', async () => {
  const scene = new LogScene()
  scene.lines(FILE, noteLine(ROOT))
  const path = leave(scene.stateDirectory, { owner: thisOwner(), segment: SEGMENT })
  const index = await opened(scene)
  expect(index.index.openTraces).toMatchObject([{ state: 'open' }])
  rmSync(path)
  leave(scene.stateDirectory, { owner: deadOwner(), segment: SEGMENT })
  expect(await index.catchUp()).toEqual([])
  expect(index.index.openTraces).toMatchObject([{ state: 'owner-dead' }])
})

test('assigns spans noted again in a later segment to that owner', async () => {
  const scene = new LogScene()
  scene.lines(FILE, noteLine(ROOT, TOOL))
  leave(scene.stateDirectory, { owner: deadOwner(), segment: SEGMENT })
  scene.lines('2000-1.jsonl', noteLine(ROOT))
  leave(scene.stateDirectory, { owner: thisOwner(), segment: '2000-1' })
  expect((await opened(scene)).index.openTraces).toMatchObject([{ state: 'open' }])
})

test("shows no process as exited in a user's file", async () => {
  const scene = new LogScene()
  scene.lines(FILE, noteLine(ROOT))
  const index = await scene.openSubject({ kind: 'file', path: scene.path(FILE) })
  await index.catchUp()
  expect(index.index.openTraces).toMatchObject([{ state: 'open', isOwnerAlive: false }])
})
