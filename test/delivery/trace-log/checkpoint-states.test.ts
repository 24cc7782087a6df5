import { existsSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Checkpoint, listCheckpoints, takeOverCheckpoint } from '../../../src/delivery/trace-log/checkpoint.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { ownPathOf, pathOf, SEGMENT, saved, stateDirectory } from './checkpoint-fixture.ts'
import { limitDisk } from './limited-disk.ts'

const disk = { isFull: false }
limitDisk(disk)

const BACKENDS = ['jaeger', 'phoenix', '__proto__']

type Step =
  | { readonly act: 'advance'; readonly backend: string; readonly offset: number }
  | { readonly act: 'forgive'; readonly backend: string }
  | { readonly act: 'settle'; readonly bytes: number }
  | { readonly act: 'close' | 'touch' | 'fill' | 'make room' | 'delete' | 'hand over' }

const backend = fc.constantFrom(...BACKENDS, 'nobody')
const bytes = fc.nat({ max: 20 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ act: fc.constant('advance' as const), backend, offset: bytes }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('forgive' as const), backend }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('settle' as const), bytes }) },
  {
    weight: 4,
    arbitrary: fc.record({ act: fc.constantFrom('close', 'touch', 'fill', 'make room', 'delete', 'hand over') }),
  },
)

/** What a checkpoint ought to be, and what ought to be on the disk. */
class Model {
  readonly state: string = stateDirectory()
  readonly owed: Map<string, number> = new Map(BACKENDS.map(name => [name, 0]))
  checkpoint: Checkpoint = Checkpoint.create(this.state, SEGMENT, BACKENDS)
  open = true
  isGone = false
  onDisk: unknown = this.content()

  content(): unknown {
    return { open: this.open, delivered: Object.fromEntries(this.owed) }
  }

  /** After everything that saves. */
  changed(): void {
    if (!disk.isFull && !this.isGone) this.onDisk = this.content()
  }
}

const ACTS: {
  readonly [Act in Step['act']]: (model: Model, step: Extract<Step, { act: Act }>) => void | Promise<void>
} = {
  advance(model, { backend, offset }) {
    const before = model.owed.get(backend)
    const canSave = !disk.isFull && !model.isGone
    const isAhead = before !== undefined && offset > before
    const wasSaved = JSON.stringify(model.onDisk) === JSON.stringify(model.content())
    if (isAhead) model.owed.set(backend, offset)
    const result = model.checkpoint.advance(backend, offset)
    if (canSave) expect(result).toBe(true)
    else if (isAhead || !wasSaved) expect(result).toBe(false)
    model.changed()
  },
  forgive(model, { backend }) {
    const wasOwed = model.owed.delete(backend)
    model.checkpoint.cancelDelivery(backend)
    if (wasOwed) model.changed()
  },
  settle(model, { bytes }) {
    const isOwed = model.open || [...model.owed.values()].some(offset => offset < bytes)
    model.isGone ||= !isOwed
    expect(model.checkpoint.removeIfDone(bytes)).toBe(model.isGone)
  },
  close(model) {
    model.open = false
    model.checkpoint.close()
    model.changed()
  },
  touch(model) {
    expect(model.checkpoint.touch()).toBe(!model.isGone)
    model.changed()
  },
  fill() {
    disk.isFull = true
  },
  'make room'() {
    disk.isFull = false
  },
  delete(model) {
    if (disk.isFull || model.isGone) return
    rmSync(model.state, { recursive: true })
    model.checkpoint.touch()
    model.changed()
  },
  async 'hand over'(model) {
    if (disk.isFull || model.isGone) return
    model.checkpoint.release()
    expect(existsSync(pathOf(model.state, SEGMENT, 'free'))).toBe(true)
    const [entry] = await listCheckpoints(model.state)
    const before = model.checkpoint
    model.checkpoint = takeOverCheckpoint(model.state, entry!)!
    before.advance('jaeger', 1000)
    expect([before.removeIfDone(0), before.touch()]).toEqual([false, false])
    model.changed()
  },
}

function check({ checkpoint, owed, open, isGone, state, onDisk }: Model): void {
  expect(checkpoint.open).toBe(open)
  expect(checkpoint.backends).toEqual([...owed.keys()])
  for (const name of BACKENDS) expect(checkpoint.offsetOf(name)).toBe(owed.get(name))
  expect(existsSync(ownPathOf(state, SEGMENT))).toBe(!isGone)
  if (!isGone) expect(saved(state, SEGMENT)).toEqual(onDisk)
}

test('keeps memory and disk consistent in any order of events', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
      const model = new Model()
      for (const each of steps) {
        await (ACTS[each.act] as (model: Model, step: Step) => void | Promise<void>)(model, each)
        check(model)
      }
      disk.isFull = false
    }),
    { numRuns: times(100, 2000) },
  )
})
