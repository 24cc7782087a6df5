import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import type { ChaosSink } from '../support/chaos-sink.mjs'
import { deepTest, SAMPLED, sample } from '../support/sample.ts'
import { DAMAGES } from './damage.ts'
import type { Host, HostEnd, HostOptions } from './host.ts'
import { inScene, type Scene } from './scene.ts'
import { FULL_DISKS, READ_ONLY_DISKS } from './small-disk.ts'
import { droppedBy } from './work-through.ts'

vi.setConfig({ maxConcurrency: 3 })

/** More than the small disks hold: about 1 MB of log. */
const MUCH: HostOptions = { turns: 60, hooksPerSecond: 400, sessions: 8, contentChars: 1000 }

/** Lives on, and says what it has lost. */
const REPORTING: HostOptions = { end: 'stdin', reportMillis: 250 }

async function sinkOf(scene: Scene): Promise<ChaosSink> {
  const sink = await scene.sink()
  scene.configure([{ name: 'only', endpoint: sink.url, protocol: 'http/json' }], { force_flush_wait_ms: 5000 })
  return sink
}

/** And, when it is over, perhaps another one that says so. */
function expectOneLine({ stderr }: HostEnd, what: RegExp): void {
  expect(stderr.filter(line => !/written again/.test(line))).toEqual([expect.stringMatching(what)])
}

/** What did not arrive is what the process says that it has lost. */
function expectCounted(scene: Scene, sink: ChaosSink, host: Host): void {
  const told = scene.check(sink).told
  const dropped = droppedBy(host)
  expect({ arrived: sink.deliveries.size, dropped }).toEqual({ arrived: told - (dropped ?? Number.NaN), dropped })
  expect(scene.check(sink).problems.filter(problem => /^(twice|wrong|never)/.test(problem))).toEqual([])
}

describe.concurrent.each(sample(FULL_DISKS, 1).map(disk => [disk.how, disk] as const))(
  `a disk that is full (%s), ${SAMPLED}`,
  (_how, disk) => {
    test('delivers from memory, with one line about the reason', () =>
      inScene(async scene => {
        const sink = await sinkOf(scene)
        mkdirSync(scene.stateHome)
        const end = await scene.start(MUCH, disk.under(scene.stateHome)).ended
        expect(end.code).toBe(0)
        expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
        expectOneLine(end, /^hookspan: .*(ENOSPC|EFBIG)/)
      })())

    deepTest('what can neither be delivered nor kept is counted', () =>
      inScene(async scene => {
        const sink = await sinkOf(scene)
        mkdirSync(scene.stateHome)
        sink.behaviour = { kind: 'down' }
        const host = scene.start({ ...MUCH, ...REPORTING }, disk.under(scene.stateHome))
        await host.ready()
        await pause(1500)
        await sink.comeBack()
        await host.idle()
        expect((await host.finish()).code).toBe(0)
        expectCounted(scene, sink, host)
      })(),
    )
  },
)

describe.concurrent('a directory that cannot be written', () => {
  deepTest('because a part of its path is a file', () =>
    inScene(async scene => {
      const sink = await sinkOf(scene)
      scene.stateHome = join(scene.put('file', ''), 'state')
      const end = await scene.start({ ...MUCH, turns: 30 }).ended
      expect(end.code).toBe(0)
      expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
      expectOneLine(end, /^hookspan: .*(ENOTDIR|EEXIST)/)
    })(),
  )

  test.for(READ_ONLY_DISKS.map(disk => [disk.how, disk] as const))(
    'is reported for a read-only disk (%s)',
    ([_how, disk]) =>
      inScene(async scene => {
        const sink = await sinkOf(scene)
        mkdirSync(scene.stateHome)
        const end = await scene.start({ ...MUCH, turns: 30 }, disk.under(scene.stateHome)).ended
        expect(end.code).toBe(0)
        expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
        expectOneLine(end, /^hookspan: .*(EROFS|ENOENT)/)
      })(),
  )
})

describe.concurrent('the state directory is deleted under a running process', () => {
  deepTest('delivery goes on', () =>
    inScene(async scene => {
      const sink = await sinkOf(scene)
      const host = scene.start(MUCH)
      await scene.logged(host, 1)
      scene.removeState()
      const end = await host.ended
      expect(end.code).toBe(0)
      expect(end.stderr.length).toBeLessThanOrEqual(1)
      expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
    })(),
  )

  test('counts spans as lost that were only there', () =>
    inScene(async scene => {
      const sink = await sinkOf(scene)
      sink.behaviour = { kind: 'down' }
      const host = scene.start({ ...MUCH, ...REPORTING })
      await host.owing()
      scene.removeState()
      // It goes on in another file.
      await scene.logged(host, 1)
      await sink.comeBack()
      await host.idle()
      await host.finish()
      expectCounted(scene, sink, host)
      expect(droppedBy(host)).toBeGreaterThan(0)
    })())
})

/** A process that is killed while nothing can be delivered: all that it told is in its segment. */
async function segmentOfTheDead(scene: Scene): Promise<{ sink: ChaosSink; path: string }> {
  const sink = await sinkOf(scene)
  sink.behaviour = { kind: 'down' }
  const host = scene.start({ hooksPerSecond: 400, sessions: 4 })
  await scene.logged(host, 10)
  await host.kill()
  await sink.comeBack()
  const path = scene.files('traces').find(file => file.endsWith(`-${host.pid}.jsonl`))
  if (path === undefined) throw new Error('it has left no segment')
  return { sink, path }
}

describe.concurrent(`a segment of a dead process, ${SAMPLED}`, () => {
  test.for(sample(DAMAGES, 1).map(damage => [damage.what, damage] as const))(
    'is delivered after its damage: %s',
    ([_what, { inflict, isLoss }]) =>
      inScene(async scene => {
        const { sink, path } = await segmentOfTheDead(scene)
        const mayMiss = inflict(path)
        expect(mayMiss.size > 0).toBe(isLoss)
        const options = mayMiss.size > 0 ? { mayMiss } : {}
        const end = await scene.successor([sink], options)
        expect(end.code).toBe(0)
        expect(scene.check(sink, options)).toMatchObject({ problems: [], excusedRepeats: 0 })
        if (isLoss) expectOneLine(end, /^hookspan: .*(line|damaged)/)
        else expect(end.stderr.length).toBeLessThanOrEqual(1)
        expect(scene.files('spool')).toEqual([])
      })(),
  )
})

test(
  'leaves foreign files in the directory alone',
  inScene(async scene => {
    const foreign = ['traces/notes.txt', 'traces/x.jsonl', 'traces/1-1.jsonl.bak', 'spool/foo', 'spool/bar.json']
    const contents = new Map(foreign.map(name => [join(scene.stateDirectory, name), `${name} \0 {`]))
    for (const folder of ['traces/1795256100000-1.jsonl', 'spool/1795256100000-2.free.json', 'traces/folder'])
      mkdirSync(join(scene.stateDirectory, folder), { recursive: true, mode: 0o700 })
    for (const [path, content] of contents) writeFileSync(path, content)
    const { sink } = await segmentOfTheDead(scene)
    await scene.successor([sink])
    expect(scene.check(sink).problems).toEqual([])
    for (const [path, content] of contents) expect(readFileSync(path, 'utf8')).toBe(content)
  }),
)
