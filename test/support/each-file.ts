/**
 * Around the tests of each file. A process runs one file after the other: who leaves something behind in it is red itself, and
 * not the next one.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll, afterEach, beforeAll, chai, expect, vi } from 'vitest'
import { cleanUp } from './afterwards.ts'

const TELEMETRY = Symbol.for('opentelemetry.js.api.1')

function found(): object {
  return {
    env: { ...process.env },
    directory: process.cwd(),
    listeners: process.eventNames().flatMap(listeners).sort(),
    // Node's own is there once something was fetched, OpenTelemetry's once anything was registered, also when it is gone, and ours
    // once a plugin was made.
    globals: Reflect.ownKeys(globalThis).filter(key => !/undici|opentelemetry|hookspan\.plugins/.test(String(key))),
    telemetry: Object.keys(Reflect.get(globalThis, TELEMETRY) ?? {}).filter(key => key !== 'version'),
    isTimeFake: vi.isFakeTimers(),
  }
}

/** Without the one for test plugins that nobody has shut down: they hold nothing that could be saved. */
function listeners(event: string | symbol): string[] {
  const others = process.listeners(event as 'exit').filter(({ name }) => name !== 'onExit')
  return others.map(({ name }) => `${String(event)}: ${name}`)
}

// A proxy around each assertion would find a misspelt one, as the compiler does, and takes a third of its time.
chai.config.useProxy = false

/**
 * Storages that the tests of a file use. On Node 20, each that was used once makes every later promise of the process slower,
 * until it is disabled; the next use enables it again.
 */
const storages = new Set<AsyncLocalStorage<unknown>>()
const { run } = AsyncLocalStorage.prototype

let before: object

beforeAll(() => {
  AsyncLocalStorage.prototype.run = function (this: AsyncLocalStorage<unknown>, ...args: Parameters<typeof run>) {
    storages.add(this)
    return Reflect.apply(run, this, args)
  }
  before = found()
})

afterEach(async ({ task }) => {
  if (!task.concurrent) await cleanUp()
})

afterAll(async () => {
  await cleanUp()
  AsyncLocalStorage.prototype.run = run
  for (const storage of storages) storage.disable()
  storages.clear()
  expect(vi.isFakeTimers(), 'a clock that is not the real one is left behind').toBe(false)
  // What plugins have not worked off yet ends in the next turns of the event loop.
  const isAsBefore = (): void => expect(found(), 'what the tests of this file leave behind').toEqual(before)
  await vi.waitFor(isAsBefore, { interval: 1, timeout: 10_000 })
})
