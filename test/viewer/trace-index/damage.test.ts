/** The index can be lost, damaged, or left behind by a process that was killed: the log has it all. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { REPOSITORY } from '../../cli/program.ts'
import { exportLine, SAMPLE_TURN, type SpanNote, TRACE_ID } from '../../reading/sample-turn.ts'
import { LogScene } from './index-scene.ts'

function scene(): LogScene {
  const made = new LogScene()
  made.lines('1-1.jsonl', exportLine(...SAMPLE_TURN))
  return made
}

test('is readable for the user alone', async () => {
  const log = scene()
  await log.indexed()
  const path = log.snapshot
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700)
  expect(statSync(dirname(dirname(path))).mode & 0o777).toBe(0o700)
})

test('is kept, and not built again', async () => {
  const log = scene()
  await log.indexed()
  const opened = log.open()
  expect(await opened.catchUp()).toEqual([])
  expect(await opened.turns()).toHaveProperty('size', 1)
})

test.each<readonly [string, (path: string) => void]>([
  ['lost', path => rmSync(path)],
  ['empty', path => truncateSync(path, 0)],
  ['cut', path => truncateSync(path, 500)],
  ['something else', path => writeFileSync(path, 'no snapshot, but long enough to be taken for one'.repeat(100))],
  ['full of zeros', path => writeFileSync(path, Buffer.alloc(statSync(path).size))],
  ['damaged in its middle', damage],
])('is built again if it is %s', async (_, spoil) => {
  const log = scene()
  await log.indexed()
  spoil(log.snapshot)
  const opened = log.open()
  // More is to come, so that it is written to.
  log.lines('2-1.jsonl', exportLine({ ...(SAMPLE_TURN[0] as SpanNote), trace: 'new' }))
  await opened.catchUp()
  await opened.catchUp()
  expect([...(await opened.turns()).keys()].toSorted()).toEqual([TRACE_ID, 'new'])
  expect(await opened.trace(TRACE_ID)).toHaveLength(SAMPLE_TURN.length)
})

test('is built again if it is of another version', async () => {
  const log = scene()
  await log.indexed()
  const [, ...rest] = readFileSync(log.snapshot, 'utf8').split('\n')
  const body = ['999', ...rest.slice(0, -1), ''].join('\n')
  writeFileSync(log.snapshot, body + createHash('sha256').update(body).digest('hex'))
  const opened = log.open()
  expect(opened.status().bytes).toBe(0)
  await opened.catchUp()
  expect(await opened.turns()).toHaveProperty('size', 1)
})

test('is unchanged after a process that was killed while indexing', async () => {
  const log = new LogScene()
  const filler = 'word '.repeat(4_000)
  const fill = (from: number): void => {
    for (let n = from; n < from + 100; n++) {
      const note: SpanNote = { id: '1', trace: `t${n}`, name: `turn ${n}`, from: n, to: n + 1, attributes: { filler } }
      log.lines('1-1.jsonl', exportLine(note))
    }
  }
  fill(0)
  await log.indexed()
  const kept = statSync(log.path('1-1.jsonl')).size
  fill(100)
  await killedIndexing(log)
  const opened = log.open()
  expect(opened.status()).toMatchObject({ indexedBytes: kept, traceCount: 100 })
  await opened.catchUp()
  opened.close()
  const fresh = new LogScene()
  fresh.append('1-1.jsonl', readFileSync(log.path('1-1.jsonl'), 'utf8'))
  await fresh.indexed()
  expect(await log.contents()).toEqual(await fresh.contents())
})

test('loses and repeats nothing if a step ends early', async () => {
  const log = scene()
  let pauses = 0
  const opened = log.open(async () => {
    if (++pauses <= 2) throw new Error('enough')
  })
  await expect(opened.index.step()).rejects.toThrow('enough')
  expect(await opened.found({})).toEqual([])
  await expect(opened.index.step()).rejects.toThrow('enough')
  await opened.catchUp()
  expect(opened.status()).toMatchObject({ traceCount: 1, spanCount: SAMPLE_TURN.length })
})

test('gives the same answers in two processes at once', async () => {
  const log = scene()
  const [first, second] = [log.open(), log.open()]
  for (const index of [first, second]) await index.catchUp()
  log.lines('1-1.jsonl', exportLine({ id: '1', trace: 'more', name: 'x', from: 0, to: 1 }))
  for (const index of [first, second]) {
    expect(await index.catchUp()).toEqual(['more'])
    index.close()
  }
  expect(await log.open().catchUp()).toEqual([])
})

test('answers if it cannot be stored, and reports that', async () => {
  const log = scene()
  writeFileSync(join(log.stateDirectory, 'index'), 'in the way')
  const opened = log.open()
  await opened.catchUp()
  opened.index.save()
  expect(opened.status().failure).toMatch(/^cannot keep the index in .*: /)
  expect(await opened.turns()).toHaveProperty('size', 1)
})

test("stores nothing of a user's file", async () => {
  const log = scene()
  const opened = await log.openSubject({ kind: 'file', path: log.path('1-1.jsonl') })
  await opened.catchUp()
  expect(await opened.turns()).toHaveProperty('size', 1)
  expect(existsSync(join(log.stateDirectory, 'index'))).toBe(false)
  expect(readdirSync(log.stateDirectory)).toEqual(['traces'])
})

test('does not follow a link in the log', async () => {
  const log = scene()
  const secret = join(dirname(log.stateDirectory), 'secret.txt')
  writeFileSync(secret, `${exportLine({ id: '1', trace: 'secret', name: 'x', from: 0, to: 1 })}\n`)
  symlinkSync(secret, log.path('9-1.jsonl'))
  const opened = log.open()
  await opened.catchUp()
  expect([...(await opened.turns()).keys()]).toEqual([TRACE_ID])
})

test('is empty without a log', async () => {
  const log = new LogScene()
  rmSync(log.traces, { recursive: true })
  const opened = log.open()
  expect(await opened.catchUp()).toEqual([])
  expect((await opened.sessions()).rows).toEqual([])
  expect(opened.status()).toMatchObject({ bytes: 0, traceCount: 0, failure: undefined })
})

function damage(path: string): void {
  const bytes = readFileSync(path)
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
  writeFileSync(path, bytes)
}

const INDEXING = `
import { LocalIndex } from ${JSON.stringify(join(REPOSITORY, 'build/viewer/trace-index/local-index.js'))}
const index = new LocalIndex({ kind: 'log', stateDirectory: process.argv[1] }, async () => process.kill(process.pid, 'SIGKILL'))
while (await index.step());
`

async function killedIndexing(log: LogScene): Promise<void> {
  const args = ['--input-type=module', '-e', INDEXING, log.stateDirectory]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
  expect(signal).toBe('SIGKILL')
}
