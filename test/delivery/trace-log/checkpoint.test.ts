import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { CheckpointEntry } from '../../../src/delivery/trace-log/checkpoint.ts'
import {
  Checkpoint,
  listCheckpoints,
  readCheckpoint,
  takeOverCheckpoint,
} from '../../../src/delivery/trace-log/checkpoint.ts'
import { isAlive, ownerToken, thisOwner } from '../../../src/delivery/trace-log/owner.ts'
import {
  deadOwner,
  farOwner,
  leave,
  ownPathOf,
  pathOf,
  SEGMENT,
  saved,
  spoolNames,
  stateDirectory,
} from './checkpoint-fixture.ts'
import { limitDisk } from './limited-disk.ts'

const disk = { isFull: false, takesAtMost: Number.POSITIVE_INFINITY }
limitDisk(disk)

const DAY_MILLIS = 86_400_000

afterEach(() => {
  disk.isFull = false
  disk.takesAtMost = Number.POSITIVE_INFINITY
})

async function onlyEntry(state: string): Promise<CheckpointEntry> {
  const entries = await listCheckpoints(state)
  expect(entries).toHaveLength(1)
  return entries[0]!
}

describe('a checkpoint', () => {
  test('is a private file with the pending backends', () => {
    const state = stateDirectory()
    const checkpoint = Checkpoint.create(state, SEGMENT, ['jaeger', 'phoenix'])
    expect(saved(state, SEGMENT)).toEqual({ open: true, delivered: { jaeger: 0, phoenix: 0 } })
    expect(statSync(ownPathOf(state, SEGMENT)).mode & 0o777).toBe(0o600)
    for (const directory of [state, join(state, 'spool')]) expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(checkpoint).toMatchObject({ segment: SEGMENT, segmentPath: join(state, 'traces', `${SEGMENT}.jsonl`) })
    expect(checkpoint).toMatchObject({ open: true, backends: ['jaeger', 'phoenix'], isDamaged: false })
    expect([checkpoint.offsetOf('jaeger'), checkpoint.offsetOf('other')]).toEqual([0, undefined])
  })

  test('is not created twice', () => {
    const state = stateDirectory()
    Checkpoint.create(state, SEGMENT, ['jaeger']).advance('jaeger', 5)
    expect(() => Checkpoint.create(state, SEGMENT, ['jaeger'])).toThrow(/EEXIST/)
    expect(saved(state, SEGMENT)).toEqual({ open: true, delivered: { jaeger: 5 } })
  })

  test('throws if it cannot be created', () => {
    const state = stateDirectory()
    writeFileSync(state, 'in the way')
    expect(() => Checkpoint.create(state, SEGMENT, [])).toThrow(/ENOTDIR|EEXIST/)
  })

  test('leaves no file on a full disk', () => {
    const state = stateDirectory()
    disk.isFull = true
    expect(() => Checkpoint.create(state, SEGMENT, [])).toThrow(/ENOSPC/)
    expect(spoolNames(state)).toEqual([])
  })

  test('advances, never back, and saves at once', () => {
    const state = stateDirectory()
    const checkpoint = Checkpoint.create(state, SEGMENT, ['jaeger', 'phoenix'])
    expect(checkpoint.advance('jaeger', 200)).toBe(true)
    for (const wrong of [100, -1, Number.NaN]) {
      expect(checkpoint.advance('jaeger', wrong)).toBe(true)
    }
    expect(checkpoint.advance('nobody', 100)).toBe(true)
    expect(checkpoint.close()).toBe(true)
    expect(saved(state, SEGMENT)).toEqual({ open: false, delivered: { jaeger: 200, phoenix: 0 } })
    expect(spoolNames(state)).toHaveLength(1)
    expect(statSync(ownPathOf(state, SEGMENT)).mode & 0o777).toBe(0o600)
  })

  test.each([['__proto__'], ['constructor'], ['toString'], ['1'], ['a.b/../"c"\n\u2028\ud800'], ['']])(
    'accepts the backend name %j',
    async name => {
      const state = stateDirectory()
      const checkpoint = Checkpoint.create(state, SEGMENT, [name])
      checkpoint.advance(name, 7)
      expect(checkpoint.offsetOf(name)).toBe(7)
      const { delivered } = (await readCheckpoint(await onlyEntry(state)))!
      expect([...delivered]).toEqual([[name, 7]])
      checkpoint.release()
      const adopted = takeOverCheckpoint(state, await onlyEntry(state))
      expect(adopted?.backends).toEqual([name])
      expect(adopted?.offsetOf(name)).toBe(7)
    },
  )

  test('is removed once it is closed and everything is acknowledged', () => {
    const state = stateDirectory()
    const checkpoint = Checkpoint.create(state, SEGMENT, ['jaeger', 'phoenix'])
    checkpoint.advance('jaeger', 100)
    checkpoint.advance('phoenix', 120)
    expect(checkpoint.removeIfDone(100)).toBe(false)
    checkpoint.close()
    expect(checkpoint.removeIfDone(110)).toBe(false)
    expect(spoolNames(state)).toHaveLength(1)
    expect([checkpoint.removeIfDone(100), checkpoint.removeIfDone(100)]).toEqual([true, true])
    expect(spoolNames(state)).toEqual([])
    expect(checkpoint.advance('jaeger', 500)).toBe(false)
    expect(checkpoint.touch()).toBe(false)
    expect(spoolNames(state)).toEqual([])
  })

  test('is not pending for a cancelled backend', () => {
    const state = stateDirectory()
    const checkpoint = Checkpoint.create(state, SEGMENT, ['jaeger', 'phoenix'])
    checkpoint.cancelDelivery('phoenix')
    checkpoint.cancelDelivery('nobody')
    expect(saved(state, SEGMENT)).toEqual({ open: true, delivered: { jaeger: 0 } })
    expect([checkpoint.backends, checkpoint.offsetOf('phoenix')]).toEqual([['jaeger'], undefined])
    checkpoint.cancelDelivery('jaeger')
    expect(checkpoint.removeIfDone(100)).toBe(false)
    checkpoint.close()
    expect(checkpoint.removeIfDone(100)).toBe(true)
  })

  test('is removed although data is pending', () => {
    const state = stateDirectory()
    const checkpoint = Checkpoint.create(state, SEGMENT, ['jaeger'])
    checkpoint.remove()
    checkpoint.remove()
    expect(spoolNames(state)).toEqual([])
    expect(checkpoint.removeIfDone(100)).toBe(true)
  })
})

describe('a save that fails', () => {
  test('leaves the old file whole, and is made up for by the next one', () => {
    const state = stateDirectory()
    const checkpoint = Checkpoint.create(state, SEGMENT, ['jaeger'])
    disk.isFull = true
    expect([checkpoint.advance('jaeger', 10), checkpoint.advance('jaeger', 10), checkpoint.close()]).toEqual([
      false,
      false,
      false,
    ])
    expect(checkpoint.offsetOf('jaeger')).toBe(10)
    expect(saved(state, SEGMENT)).toEqual({ open: true, delivered: { jaeger: 0 } })
    disk.isFull = false
    expect(checkpoint.advance('jaeger', 10)).toBe(true)
    expect(saved(state, SEGMENT)).toEqual({ open: false, delivered: { jaeger: 10 } })
  })

  test('is made up for by a heartbeat, and by letting go', () => {
    const state = stateDirectory()
    const checkpoint = Checkpoint.create(state, SEGMENT, ['jaeger'])
    disk.isFull = true
    expect([checkpoint.advance('jaeger', 10), checkpoint.touch()]).toEqual([false, true])
    disk.isFull = false
    expect(checkpoint.touch()).toBe(true)
    expect(saved(state, SEGMENT)).toEqual({ open: true, delivered: { jaeger: 10 } })

    disk.isFull = true
    checkpoint.advance('jaeger', 20)
    disk.isFull = false
    checkpoint.release()
    expect(JSON.parse(readFileSync(pathOf(state, SEGMENT, 'free'), 'utf8'))).toMatchObject({
      delivered: { jaeger: 20 },
    })
  })

  test('is one of which only a part was written', () => {
    const state = stateDirectory()
    const checkpoint = Checkpoint.create(state, SEGMENT, ['jaeger'])
    disk.takesAtMost = 5
    expect(checkpoint.advance('jaeger', 10)).toBe(false)
    disk.takesAtMost = Number.POSITIVE_INFINITY
    expect(checkpoint.touch()).toBe(true)
    expect(saved(state, SEGMENT)).toEqual({ open: true, delivered: { jaeger: 10 } })
  })

  test('creates a deleted directory again, as soon as there is room', () => {
    const state = stateDirectory()
    const checkpoint = Checkpoint.create(state, SEGMENT, ['jaeger'])
    rmSync(state, { recursive: true })
    disk.isFull = true
    expect([checkpoint.advance('jaeger', 10), checkpoint.touch()]).toEqual([false, true])
    expect(spoolNames(state)).toEqual([])
    disk.isFull = false
    expect(checkpoint.advance('jaeger', 10)).toBe(true)
    expect(saved(state, SEGMENT)).toEqual({ open: true, delivered: { jaeger: 10 } })
    expect(statSync(join(state, 'spool')).mode & 0o777).toBe(0o700)
    rmSync(state, { recursive: true })
    expect(checkpoint.touch()).toBe(true)
    expect(saved(state, SEGMENT)).toEqual({ open: true, delivered: { jaeger: 10 } })
  })

  test('keeps the old checkpoint, too, if a long one is written anew', () => {
    const state = stateDirectory()
    const backends = Array.from({ length: 200 }, (_, number) => `a backend with a long name ${number}`)
    const checkpoint = Checkpoint.create(state, SEGMENT, backends)
    expect(checkpoint.advance(backends[0]!, 5)).toBe(true)
    disk.isFull = true
    expect(checkpoint.advance(backends[0]!, 10)).toBe(false)
    expect(saved(state, SEGMENT)).toMatchObject({ delivered: { [backends[0]!]: 5 } })
    expect(spoolNames(state)).toHaveLength(1)
    disk.isFull = false
    for (const name of backends.slice(1)) checkpoint.cancelDelivery(name)
    expect(saved(state, SEGMENT)).toEqual({ open: true, delivered: { [backends[0]!]: 10 } })
    expect(statSync(ownPathOf(state, SEGMENT)).size).toBeLessThan(4096)
    expect(statSync(ownPathOf(state, SEGMENT)).mode & 0o777).toBe(0o600)
  })
})

describe('a checkpoint that was taken over, because this process looked dead', () => {
  test.each([
    ['touch', (checkpoint: Checkpoint) => checkpoint.touch()],
    ['advance', (checkpoint: Checkpoint) => checkpoint.advance('jaeger', 10)],
    ['close', (checkpoint: Checkpoint) => checkpoint.close()],
  ])('is left alone by %s', (_, act) => {
    const state = stateDirectory()
    const checkpoint = Checkpoint.create(state, SEGMENT, ['jaeger'])
    const theirs = pathOf(state, SEGMENT, 'aaaaaaaa_bbbbbbbb_cccccccc-17-4242')
    renameSync(ownPathOf(state, SEGMENT), theirs)
    writeFileSync(theirs, '{"open":true,"delivered":{"jaeger":3}}')
    expect(act(checkpoint)).toBe(false)
    expect(checkpoint.touch()).toBe(false)
    checkpoint.cancelDelivery('jaeger')
    checkpoint.release()
    checkpoint.remove()
    expect(checkpoint.removeIfDone(0)).toBe(false)
    expect(spoolNames(state).map(name => join(state, 'spool', name))).toEqual([theirs])
    expect(readFileSync(theirs, 'utf8')).toBe('{"open":true,"delivered":{"jaeger":3}}')
  })
})

describe('the list', () => {
  test('is empty where nothing is', async () => {
    expect(await listCheckpoints(stateDirectory())).toEqual([])
    const state = stateDirectory()
    mkdirSync(state)
    writeFileSync(join(state, 'spool'), 'in the way')
    expect(await listCheckpoints(state)).toEqual([])
  })

  test('is sorted by the start of the segment, with the owner of each', async () => {
    const state = stateDirectory()
    leave(state, { owner: farOwner(), segment: '1000-5', heartbeatAt: 5000 })
    leave(state, { segment: '900-77' })
    Checkpoint.create(state, '10000-1', [])
    const entries = await listCheckpoints(state)
    expect(entries.map(({ segment, owner }) => [segment, owner])).toEqual([
      ['900-77', undefined],
      ['1000-5', farOwner()],
      ['10000-1', thisOwner()],
    ])
    expect(entries[1]).toMatchObject({ heartbeatAt: 5000, path: pathOf(state, '1000-5', ownerToken(farOwner())) })
  })

  test('skips foreign files, and removes half-written ones of a day ago', async () => {
    const state = stateDirectory()
    const path = leave(state, {})
    mkdirSync(pathOf(state, '1-2', 'free'))
    const foreign = ['notes.txt', '1-2.json', 'x-2.free.json', '1-2.nobody.json', '1-2.free.json.bak', 'old.tmp']
    for (const name of foreign) writeFileSync(join(state, 'spool', name), '{}')
    writeFileSync(`${path}.tmp`, '{"op')
    const stale = `${pathOf(state, '5-5', 'aaaaaaaa_bbbbbbbb_cccccccc-17-4242')}.tmp`
    for (const old of [stale, join(state, 'spool', 'old.tmp')]) {
      writeFileSync(old, '')
      utimesSync(old, new Date(), new Date(Date.now() - 2 * DAY_MILLIS))
    }
    expect((await listCheckpoints(state)).map(entry => entry.path)).toEqual([path])
    expect([existsSync(`${path}.tmp`), existsSync(stale)]).toEqual([true, false])
    for (const name of foreign) expect(existsSync(join(state, 'spool', name))).toBe(true)
  })

  test('may be older than its entries', async () => {
    const state = stateDirectory()
    const path = leave(state, {})
    const entry = await onlyEntry(state)
    rmSync(path)
    expect(await readCheckpoint(entry)).toBeUndefined()
    expect(takeOverCheckpoint(state, entry)).toBeUndefined()
  })
})

describe('adoption', () => {
  test('takes over a checkpoint of a dead process, with a new heartbeat', async () => {
    const state = stateDirectory()
    leave(state, { owner: deadOwner(), heartbeatAt: 5000 })
    const before = Date.now()
    const checkpoint = takeOverCheckpoint(state, await onlyEntry(state))
    expect(checkpoint).toMatchObject({ segment: SEGMENT, open: true, backends: ['jaeger'], isDamaged: false })
    const entry = await onlyEntry(state)
    expect(entry.owner).toEqual(thisOwner())
    expect(entry.heartbeatAt).toBeGreaterThan(before - 1000)
    expect([checkpoint?.close(), checkpoint?.advance('jaeger', 20), checkpoint?.removeIfDone(20)]).toEqual([
      true,
      true,
      true,
    ])
  })

  test('takes over a free checkpoint, which its releaser writes no more', async () => {
    const state = stateDirectory()
    const first = Checkpoint.create(state, SEGMENT, ['jaeger'])
    first.release()
    expect([first.advance('jaeger', 10), first.touch(), first.removeIfDone(0)]).toEqual([false, false, false])
    first.release()
    first.remove()
    const second = takeOverCheckpoint(state, await onlyEntry(state))
    expect(second?.offsetOf('jaeger')).toBe(0)
    first.close()
    expect(saved(state, SEGMENT)).toEqual({ open: true, delivered: { jaeger: 0 } })
  })

  test('leaves our own checkpoints and those of living processes', async () => {
    const state = stateDirectory()
    Checkpoint.create(state, SEGMENT, [])
    expect(takeOverCheckpoint(state, await onlyEntry(state))).toBeUndefined()
    const other = stateDirectory()
    leave(other, { owner: farOwner(), heartbeatAt: Date.now() })
    expect(takeOverCheckpoint(other, await onlyEntry(other))).toBeUndefined()
    expect((await onlyEntry(other)).owner).toEqual(farOwner())
  })

  test('reads the heartbeat again', async () => {
    const state = stateDirectory()
    const path = leave(state, { owner: farOwner(), heartbeatAt: 5000 })
    const entry = await onlyEntry(state)
    expect(isAlive(farOwner(), entry.heartbeatAt, Date.now())).toBe(false)
    utimesSync(path, new Date(), new Date())
    expect(takeOverCheckpoint(state, entry)).toBeUndefined()
    utimesSync(path, new Date(), new Date(5000))
    expect(takeOverCheckpoint(state, entry)).toBeInstanceOf(Checkpoint)
  })

  test('does not overwrite our checkpoint of the same segment', async () => {
    const state = stateDirectory()
    leave(state, { owner: deadOwner() })
    const entry = await onlyEntry(state)
    const ours = Checkpoint.create(state, SEGMENT, ['phoenix'])
    expect(takeOverCheckpoint(state, entry)).toBeUndefined()
    expect(saved(state, SEGMENT)).toEqual({ open: true, delivered: { phoenix: 0 } })
    ours.remove()
    expect(takeOverCheckpoint(state, entry)?.backends).toEqual(['jaeger'])
  })

  test.each([
    '',
    '{',
    'null',
    '[]',
    '{"open":true}',
    '{"open":1,"delivered":{}}',
    '{"open":true,"delivered":[]}',
    '{"open":true,"delivered":null}',
    '{"open":true,"delivered":""}',
    '{"open":true,"delivered":{"jaeger":-1}}',
    '{"open":true,"delivered":{"jaeger":"10"}}',
    '{"open":true,"delivered":{"jaeger":1e300}}',
    '\0\0\0\0',
  ])('treats a damaged file as open and pending for no backend: %j', async text => {
    const state = stateDirectory()
    leave(state, { text })
    const expected = { open: true, delivered: new Map(), isDamaged: true }
    expect(await readCheckpoint(await onlyEntry(state))).toEqual(expected)
    const checkpoint = takeOverCheckpoint(state, await onlyEntry(state))
    expect(checkpoint).toMatchObject({ open: true, backends: [], isDamaged: true })
    expect(checkpoint?.removeIfDone(1000)).toBe(false)
    checkpoint?.close()
    expect(checkpoint?.removeIfDone(1000)).toBe(true)
  })

  test('ignores fields of a later version', async () => {
    const state = stateDirectory()
    leave(state, { text: '{"open":false,"delivered":{"jaeger":3},"more":1}' })
    expect(await readCheckpoint(await onlyEntry(state))).toEqual({
      open: false,
      delivered: new Map([['jaeger', 3]]),
      isDamaged: false,
    })
  })
})
