import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { LossLog, readLosses } from '../../../src/delivery/trace-log/losses.ts'
import { BuiltCheckpoint } from './built-checkpoint.ts'
import { stateDirectory } from './checkpoint-fixture.ts'

const KIB = 1024

function fileOf(state: string): string {
  return join(state, 'losses.jsonl')
}

function linesOf(state: string): unknown[] {
  return readFileSync(fileOf(state), 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}

describe('a loss', () => {
  test('is summed by backend and reason, and read back by another process', async () => {
    const state = stateDirectory()
    let now = 1000
    const log = new LossLog(state, () => now++)
    log.note('jaeger', 2, 'queue full')
    log.note('jaeger', 3, 'queue full')
    log.note('jaeger', 1, 'answered 400')
    log.note('__proto__', 1, 'queue full')
    log.save()
    expect(linesOf(state)).toHaveLength(3)
    log.note('jaeger', 5, 'queue full')
    log.save()
    log.save()
    const queueFull = { backend: 'jaeger', reason: 'queue full' }
    expect(await readLosses(state, 0)).toEqual([
      { at: 1004, spans: 10, ...queueFull },
      { at: 1003, spans: 1, backend: '__proto__', reason: 'queue full' },
      { at: 1002, spans: 1, backend: 'jaeger', reason: 'answered 400' },
    ])
    expect(await readLosses(state, 1004)).toEqual([{ at: 1004, spans: 5, ...queueFull }])
    expect(await readLosses(state, 1005)).toEqual([])
  })

  test('creates a private file, and none before it', async () => {
    const state = stateDirectory()
    const log = new LossLog(state)
    for (const none of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) log.note('jaeger', none, 'queue full')
    log.save()
    expect([existsSync(state), await readLosses(state, 0)]).toEqual([false, []])
    log.note('jaeger', 1, 'queue full')
    log.save()
    expect(statSync(fileOf(state)).mode & 0o777).toBe(0o600)
    expect(statSync(state).mode & 0o777).toBe(0o700)
  })

  test('has a reason of one short line', () => {
    const state = stateDirectory()
    const log = new LossLog(state)
    log.note('two\nlines', 1, `a\r\nb\u2028c${'d'.repeat(1000)}`)
    log.save()
    expect(linesOf(state)).toEqual([
      expect.objectContaining({ backend: 'two\nlines', reason: `a b c${'d'.repeat(194)}` }),
    ])
  })

  test('is counted even with endless reasons', async () => {
    const state = stateDirectory()
    const log = new LossLog(state)
    for (let number = 0; number < 10_000; number++) log.note('jaeger', 1, `reason ${number}`)
    log.save()
    expect(linesOf(state).length).toBeLessThan(300)
    expect((await readLosses(state, 0)).reduce((sum, { spans }) => sum + spans, 0)).toBe(10_000)
  })
})

test('keeps no process alive while it waits to be written', () => {
  const held = (): number => process.getActiveResourcesInfo().filter(resource => resource === 'Timeout').length
  const before = held()
  const log = new LossLog(stateDirectory())
  log.note('jaeger', 1, 'queue full')
  expect(held()).toBe(before)
  log.save()
})

describe('writing in the background', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })

  afterEach(() => {
    vi.useRealTimers()
  })

  test('writes a burst once it is over, and later ones at most every 5 s', () => {
    const state = stateDirectory()
    const log = new LossLog(state)
    log.note('jaeger', 1, 'queue full')
    log.note('jaeger', 1, 'queue full')
    expect(existsSync(fileOf(state))).toBe(false)
    vi.advanceTimersByTime(1)
    expect(linesOf(state)).toHaveLength(1)
    for (let times = 0; times < 49; times++) {
      log.note('jaeger', 1, 'queue full')
      vi.advanceTimersByTime(100)
    }
    expect(linesOf(state)).toHaveLength(1)
    vi.advanceTimersByTime(200)
    expect(linesOf(state)).toHaveLength(2)
    vi.advanceTimersByTime(20_000)
    expect(vi.getTimerCount()).toBe(0)
    log.note('jaeger', 1, 'queue full')
    vi.advanceTimersByTime(1)
    expect(linesOf(state)).toHaveLength(3)
  })

  test('keeps a loss until it can be written', async () => {
    const state = stateDirectory()
    writeFileSync(state, 'in the way')
    const log = new LossLog(state)
    log.note('jaeger', 1, 'queue full')
    log.save()
    vi.advanceTimersByTime(30_000)
    log.note('jaeger', 2, 'queue full')
    rmSync(state)
    vi.advanceTimersByTime(5000)
    vi.useRealTimers()
    expect(await readLosses(state, 0)).toEqual([expect.objectContaining({ spans: 3 })])
  })
})

describe('the file', () => {
  test('is read without its damaged lines', async () => {
    const state = stateDirectory()
    mkdirSync(state)
    const good = '{"at":5,"backend":"jaeger","spans":1,"reason":"queue full","more":1}'
    const bad = ['', '{', 'null', '[]', '1', '\0', '{"at":"5","backend":"jaeger","spans":1,"reason":"r"}']
    for (const spans of ['0', '-1', '1.5', '"1"', 'null']) bad.push(good.replace('"spans":1', `"spans":${spans}`))
    writeFileSync(fileOf(state), [good, ...bad, good].join('\n'))
    expect(await readLosses(state, 0)).toEqual([{ at: 5, backend: 'jaeger', spans: 2, reason: 'queue full' }])
  })

  test('loses no line to one that a full disk has cut off', async () => {
    const state = stateDirectory()
    mkdirSync(state)
    writeFileSync(fileOf(state), '{"at":5,"back')
    const log = new LossLog(state)
    log.note('jaeger', 1, 'queue full')
    log.save()
    expect(await readLosses(state, 0)).toEqual([expect.objectContaining({ backend: 'jaeger', spans: 1 })])
  })

  function fill(state: string, bytes: number): void {
    const line = '{"at":5,"backend":"jaeger","spans":1,"reason":"queue full"}\n'
    mkdirSync(state, { recursive: true })
    writeFileSync(fileOf(state), line.repeat(Math.floor(bytes / line.length)))
  }

  function noteLast(state: string): void {
    const log = new LossLog(state, () => 6)
    log.note('jaeger', 1, 'the last')
    log.save()
  }

  test('is cut to its newer half when it has grown too long', async () => {
    const state = stateDirectory()
    fill(state, 256 * KIB)
    noteLast(state)
    expect(statSync(fileOf(state)).size).toBeLessThanOrEqual(128 * KIB)
    expect(statSync(fileOf(state)).size).toBeGreaterThan(127 * KIB)
    expect(statSync(fileOf(state)).mode & 0o777).toBe(0o600)
    expect(() => linesOf(state)).not.toThrow()
    expect((await readLosses(state, 6))[0]).toMatchObject({ reason: 'the last' })
  })

  test('is cut by one process at a time, and by the next one when that was killed', () => {
    const state = stateDirectory()
    fill(state, 256 * KIB)
    const lock = `${fileOf(state)}.tmp`
    writeFileSync(lock, '')
    noteLast(state)
    expect(statSync(fileOf(state)).size).toBeGreaterThan(256 * KIB - 100)
    utimesSync(lock, new Date(), new Date(Date.now() - 120_000))
    noteLast(state)
    noteLast(state)
    expect(statSync(fileOf(state)).size).toBeLessThanOrEqual(128 * KIB)
    expect(existsSync(lock)).toBe(false)
  })
})

describe('the counts of several processes', () => {
  let built: BuiltCheckpoint

  beforeAll(async () => {
    built = await BuiltCheckpoint.build()
  })

  afterAll(() => built.remove())

  test('loses no loss', async () => {
    const state = stateDirectory()
    mkdirSync(dirname(state), { recursive: true })
    await built.runTogether(
      4,
      state,
      `
      const log = new LossLog(state)
      waitForAll()
      for (let times = 0; times < 100; times++) {
        log.note('jaeger', 1, 'queue full')
        log.save()
      }
      `,
    )
    expect(await readLosses(state, 0)).toEqual([expect.objectContaining({ backend: 'jaeger', spans: 400 })])
  })
})
