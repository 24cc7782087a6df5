/** The index as the viewer has it: in a thread of its own, from the build. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { TraceChange } from '../../../src/viewer/trace-index/answers.ts'
import { TraceIndex, type TraceSource } from '../../../src/viewer/trace-index/trace-index.ts'
import { REPOSITORY } from '../../cli/program.ts'
import { exportLine, noteLine, SAMPLE_TURN, SESSION_ID, type SpanNote, TRACE_ID } from '../../reading/sample-turn.ts'
import { afterwards } from '../../support/afterwards.ts'
import { until } from '../../support/until.ts'
import { LogScene } from './index-scene.ts'

const BUILD = join(REPOSITORY, 'build', 'viewer', 'trace-index')
const THREAD = pathToFileURL(join(BUILD, 'index-thread.js'))

async function opened(scene: LogScene): Promise<TraceSource> {
  const subject = { kind: 'log', stateDirectory: scene.stateDirectory } as const
  const source = await TraceIndex.open({ subject, thread: THREAD })
  afterwards(() => source.close())
  return source
}

function isAllIn(source: TraceSource): boolean {
  const { bytes, indexedBytes } = source.status()
  return bytes > 0 && bytes === indexedBytes
}

test('answers, and follows new lines', async () => {
  const scene = new LogScene()
  scene.lines('1-1.jsonl', exportLine(...SAMPLE_TURN))
  const source = await opened(scene)
  await until(() => isAllIn(source))
  expect((await source.sessions({})).rows).toMatchObject([{ id: SESSION_ID, spanCount: SAMPLE_TURN.length }])
  expect((await source.session(SESSION_ID))?.turns).toMatchObject([{ traceId: TRACE_ID }])
  expect(await source.session('no such')).toBeUndefined()
  expect(await source.trace(TRACE_ID)).toHaveLength(SAMPLE_TURN.length)
  expect(await source.children(TRACE_ID)).toEqual(new Map())
  expect((await source.usage({})).groups.length).toBeGreaterThan(0)

  const changes: (TraceChange | undefined)[] = []
  const unfollow = source.follow(change => changes.push(change))
  const note: SpanNote = { id: '1', trace: 'new', name: 'agent', from: 0, to: 0 }
  scene.lines('1-1.jsonl', noteLine(note))
  await until(() => changes.length === 1)
  expect(changes).toEqual([{ traceIds: ['new'], isMore: false }])
  await until(() => source.open().length > 0)
  expect(source.open()).toMatchObject([{ traceId: 'new', sessionId: 'trace:new' }])
  scene.lines('1-1.jsonl', exportLine(note))
  await until(() => source.open().length === 0)
  expect(changes.slice(1)).toMatchObject([{ traceIds: ['new'] }])
  unfollow()
  await source.close()
  expect(changes).toHaveLength(2)
})

test('informs waiting callers when it is closed', async () => {
  const scene = new LogScene()
  const source = await opened(scene)
  const changes: (TraceChange | undefined)[] = []
  source.follow(change => changes.push(change))
  await source.close()
  expect(changes).toEqual([undefined])
  source.follow(change => changes.push(change))
  expect(changes).toEqual([undefined, undefined])
  await expect(source.sessions({})).rejects.toThrow('closed')
  await source.close()
})

test('reports if there can be no index', async () => {
  const subject = { kind: 'log', stateDirectory: new LogScene().stateDirectory } as const
  const thread = new URL('no-such-thread.js', THREAD)
  await expect(TraceIndex.open({ subject, thread })).rejects.toThrow('no-such-thread.js')
})

test('rejects only the question that fails', async () => {
  const scene = new LogScene()
  const source = await opened(scene)
  await expect(source.sessions({ text: 7 as unknown as string })).rejects.toThrow()
  expect((await source.sessions({})).rows).toEqual([])
})

test('ends a process that uses it by itself, silently, and leaves no lock', async () => {
  const scene = new LogScene()
  scene.lines('1-1.jsonl', exportLine(...SAMPLE_TURN))
  const script = join(dirname(scene.stateDirectory), 'script.mjs')
  writeFileSync(
    script,
    `import { TraceIndex } from ${JSON.stringify(pathToFileURL(join(BUILD, 'trace-index.js')).href)}
     const index = await TraceIndex.open({ subject: { kind: 'log', stateDirectory: process.argv[2] } })
     while (index.status().indexedBytes < index.status().bytes) await new Promise(resolve => setTimeout(resolve, 10))
     const { rows } = await index.sessions({ text: 'terminal' })
     await index.close()
     console.log(rows.length)`,
  )
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script, scene.stateDirectory])
  expect({ stdout, stderr }).toEqual({ stdout: '1\n', stderr: '' })
})
