/** The index can be lost, damaged, or left behind by a process that was killed: the log has it all. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ownerToken, thisOwner } from '../../../src/delivery/trace-log/index.ts'
import { openDatabase } from '../../../src/viewer/trace-index/database.ts'
import { REPOSITORY } from '../../cli/program.ts'
import { deadOwner } from '../../delivery/trace-log/checkpoint-fixture.ts'
import { exportLine, SAMPLE_TURN, type SpanNote, TRACE_ID } from '../../reading/sample-turn.ts'
import { afterwards } from '../../support/afterwards.ts'
import { ENGINES, LogScene } from './index-scene.ts'

function scene(): LogScene {
  const made = new LogScene()
  made.lines('1-1.jsonl', exportLine(...SAMPLE_TURN))
  return made
}

describe.each(ENGINES)('with the engine %s', engine => {
  test('it is the user’s alone', async () => {
    const log = scene()
    await log.indexed(engine)
    const path = log.database(engine)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700)
    expect(statSync(dirname(dirname(path))).mode & 0o777).toBe(0o700)
  })

  test('it is kept, and not made again', async () => {
    const log = scene()
    await log.indexed(engine)
    const opened = await log.open(engine)
    expect(await opened.catchUp()).toEqual([])
    expect(await opened.turns()).toHaveProperty('size', 1)
  })

  test.each<readonly [string, (path: string) => void]>([
    ['lost', path => rmSync(path)],
    ['empty', path => truncateSync(path, 0)],
    ['cut', path => truncateSync(path, 5_000)],
    ['something else', path => writeFileSync(path, 'no database, but long enough to be taken for one'.repeat(100))],
    ['full of zeros', path => writeFileSync(path, Buffer.alloc(statSync(path).size))],
    ['damaged in its middle', damage],
  ])('one that is %s is made again', async (_, spoil) => {
    const log = scene()
    await log.indexed(engine)
    spoil(log.database(engine))
    const opened = await log.open(engine)
    // More is to come, so that it is written to.
    log.lines('2-1.jsonl', exportLine({ ...(SAMPLE_TURN[0] as SpanNote), trace: 'new' }))
    await opened.catchUp()
    await opened.catchUp()
    expect([...(await opened.turns()).keys()].toSorted()).toEqual([TRACE_ID, 'new'])
    expect(await opened.trace(TRACE_ID)).toHaveLength(SAMPLE_TURN.length)
  })

  test('one that is removed while it is open is made again', async () => {
    const log = scene()
    const opened = await log.open(engine)
    await opened.catchUp()
    rmSync(join(log.stateDirectory, 'index'), { recursive: true })
    opened.index.touch()
    log.lines('2-1.jsonl', exportLine({ ...(SAMPLE_TURN[0] as SpanNote), trace: 'new' }))
    await opened.catchUp()
    expect([...(await opened.turns()).keys()].toSorted()).toEqual([TRACE_ID, 'new'])
    expect(existsSync(log.database(engine))).toBe(true)
    expect(opened.index.isWriter).toBe(true)
  })

  test('one of another version is left alone, and one that lies about its version is made again', async () => {
    const log = scene()
    await log.indexed(engine)
    const other = join(dirname(dirname(log.database(engine))), `${engine}-999`)
    mkdirSync(other)
    writeFileSync(join(other, 'traces.db'), 'of another version')
    const database = await openDatabase(log.database(engine), engine)
    database.exec('PRAGMA user_version = 999')
    database.close()
    const opened = await log.open(engine)
    await opened.catchUp()
    expect(await opened.turns()).toHaveProperty('size', 1)
    expect(readFileSync(join(other, 'traces.db'), 'utf8')).toBe('of another version')
  })

  test('those of other engines and versions that nobody has used for a week are removed', async () => {
    const log = scene()
    await log.indexed(engine)
    const place = dirname(dirname(log.database(engine)))
    const [unused, used, held] = ['wasm-998', 'native-999', 'wasm-999'].map(name => join(place, name)) as [
      string,
      string,
      string,
    ]
    for (const directory of [unused, used, held]) mkdirSync(directory)
    writeFileSync(join(held, 'lock.1'), ownerToken(thisOwner()))
    const longAgo = new Date(Date.now() - 8 * 86_400_000)
    for (const directory of [unused, held, dirname(log.database(engine))]) utimesSync(directory, longAgo, longAgo)
    await log.indexed(engine)
    expect([unused, used, held, log.database(engine)].map(existsSync)).toEqual([false, true, true, true])
  })

  test('locks that a killed process has left are taken over', async () => {
    const log = scene()
    await log.indexed(engine)
    const path = log.database(engine)
    mkdirSync(`${path}.lock`, { recursive: true })
    writeFileSync(join(dirname(path), 'lock.7'), ownerToken(deadOwner()))
    const opened = await log.open(engine)
    await opened.catchUp()
    expect(opened.index.isWriter).toBe(true)
    expect(await opened.turns()).toHaveProperty('size', 1)
  })

  test('a process that was killed while it indexed has left a part, which is gone on with', async () => {
    const log = new LogScene()
    const filler = 'word '.repeat(4_000)
    for (let n = 0; n < 200; n++) {
      const note: SpanNote = { id: '1', trace: `t${n}`, name: `turn ${n}`, from: n, to: n + 1, attributes: { filler } }
      log.lines('1-1.jsonl', exportLine(note))
    }
    await killedIndexing(log, engine)
    const opened = await log.open(engine)
    const { indexedBytes, bytes } = opened.status()
    expect(indexedBytes).toBeLessThan(Math.max(bytes, statSync(log.path('1-1.jsonl')).size))
    await opened.catchUp()
    opened.close()
    const fresh = new LogScene()
    fresh.append('1-1.jsonl', readFileSync(log.path('1-1.jsonl'), 'utf8'))
    await fresh.indexed(engine)
    expect(await log.contents(engine)).toEqual(await fresh.contents(engine))
  })

  test('a step that is ended has changed nothing', async () => {
    const log = scene()
    const opened = await log.open(engine, async () => {
      throw new Error('enough')
    })
    // Once it makes the index anew; the second time that is of no use.
    await opened.index.step()
    await expect(opened.index.step()).rejects.toThrow('enough')
    expect(await opened.found({})).toEqual([])
  })

  test('while another process has it, it is not written', async () => {
    const log = scene()
    const first = await log.open(engine)
    await first.catchUp()
    const second = await log.open(engine)
    await second.catchUp()
    expect(first.index.isWriter).toBe(true)
    // The engine that cannot share a file has a temporary one.
    expect(second.index.isWriter).toBe(engine === 'wasm')
    log.lines('1-1.jsonl', exportLine({ id: '1', trace: 'more', name: 'x', from: 0, to: 1 }))
    expect(await first.catchUp()).toEqual(['more'])
    expect(await second.catchUp()).toEqual(['more'])
    expect([...(await second.turns()).keys()].toSorted()).toEqual([TRACE_ID, 'more'])
  })

  test('who has read along goes on writing when the writer has ended', async () => {
    const log = scene()
    const first = await log.open(engine)
    await first.catchUp()
    let now = Date.now()
    const second = await log.open(engine, undefined, () => now)
    await second.catchUp()
    now += 60_000
    await second.catchUp()
    expect(second.index.isWriter).toBe(engine === 'wasm')
    first.close()
    now += 60_000
    log.lines('1-1.jsonl', exportLine({ id: '1', trace: 'more', name: 'x', from: 0, to: 1 }))
    await second.catchUp()
    expect(second.index.isWriter).toBe(true)
    expect([...(await second.turns()).keys()].toSorted()).toEqual([TRACE_ID, 'more'])
  })

  test('of a file of somebody’s nothing is kept', async () => {
    const log = scene()
    const opened = await log.openSubject({ kind: 'file', path: log.path('1-1.jsonl') }, engine)
    await opened.catchUp()
    expect(await opened.turns()).toHaveProperty('size', 1)
    expect(existsSync(join(log.stateDirectory, 'index'))).toBe(false)
    expect(readdirSync(log.stateDirectory)).toEqual(['traces'])
  })

  test('what a killed process has made for the time being is removed by the next one', async () => {
    const log = scene()
    const left = mkdtempSync(join(tmpdir(), `hookspan-index-${ownerToken(deadOwner())}.`))
    const taken = mkdtempSync(join(tmpdir(), `hookspan-index-${ownerToken(thisOwner())}.`))
    afterwards(() => rmSync(taken, { recursive: true }))
    await log.openSubject({ kind: 'file', path: log.path('1-1.jsonl') }, engine)
    expect([existsSync(left), existsSync(taken)]).toEqual([false, true])
  })

  test('a link in the log is not followed', async () => {
    const log = scene()
    const secret = join(dirname(log.stateDirectory), 'secret.txt')
    writeFileSync(secret, `${exportLine({ id: '1', trace: 'secret', name: 'x', from: 0, to: 1 })}\n`)
    symlinkSync(secret, log.path('9-1.jsonl'))
    const opened = await log.open(engine)
    await opened.catchUp()
    expect([...(await opened.turns()).keys()]).toEqual([TRACE_ID])
  })

  test('no log is an empty one', async () => {
    const log = new LogScene()
    rmSync(log.traces, { recursive: true })
    const opened = await log.open(engine)
    expect(await opened.catchUp()).toEqual([])
    expect((await opened.sessions()).rows).toEqual([])
    expect(opened.status()).toMatchObject({ bytes: 0, traceCount: 0, failure: undefined })
  })
})

/** Each page but the first, so that it looks like a database. */
function damage(path: string): void {
  const bytes = readFileSync(path)
  bytes.fill(0xa5, 4_096)
  writeFileSync(path, bytes)
  for (const suffix of ['-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true })
}

const INDEXING = `
import { LocalIndex } from ${JSON.stringify(join(REPOSITORY, 'build/viewer/trace-index/local-index.js'))}
const [stateDirectory, engine] = process.argv.slice(1)
let pauses = 0
const index = await LocalIndex.open({ subject: { kind: 'log', stateDirectory }, engine }, async () => {
  if (++pauses === 2) process.kill(process.pid, 'SIGKILL')
})
while (await index.step());
`

async function killedIndexing(log: LogScene, engine: string): Promise<void> {
  const args = ['--input-type=module', '-e', INDEXING, log.stateDirectory, engine]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
  expect(signal).toBe('SIGKILL')
}
