/** What takes long at a start is loaded and opened between two turns of the event loop, or as soon as it is needed. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { ROOT_CONTEXT } from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { NO_STATS, RecordQueue } from '../../src/plugin/record-queue.ts'
import type { Core } from '../../src/tracker/core.ts'
import { runHost } from './child-host.ts'
import { scratchHome } from './scratch-plugin.ts'

/** Opens when all but the last is loaded. */
function* each(loads: readonly (() => unknown)[], done: string[], open: () => unknown): Generator<void> {
  for (const [at, load] of loads.entries()) {
    if (at === loads.length - 1) yield open() as undefined
    done.push('load')
    load()
    yield
  }
}

/** A queue, and what it has done so far. */
function watched(
  loads: readonly (() => unknown)[] | undefined,
  isStarted = true,
  now = () => 1_800_000_000_000,
  isSessionEndInline = false,
) {
  const done: string[] = []
  const core = {
    handleHook: (hook: string) => void done.push(hook),
    stats: () => ({ ...NO_STATS, spansOpen: 7 }),
    flush: () => Promise.resolve(),
    traceparent: () => undefined,
    setDeferredAttributes: () => undefined,
    endAll: () => void done.push('end'),
  } as unknown as Core
  const queue = new RecordQueue({
    openCore: () => {
      done.push('open')
      return isStarted ? core : undefined
    },
    captureScope: { isFull: false, conversationHistory: false },
    loadSteps: loads && (open => each(loads, done, open)),
    isInline: false,
    flushesSessionEnd: true,
    earlyContexts: undefined,
    isSessionEndInline,
    maxUnwrittenMillis: 200,
    save: () => void done.push('save'),
    activeSpan: () => undefined,
    now,
  })
  return { queue, done }
}

const nothing = (): void => undefined

function boom(): never {
  throw new Error('too many files')
}

describe('a plugin that was created', () => {
  test('is opened at once where nothing has to be loaded', () => {
    expect(watched(undefined).done).toEqual(['open'])
  })

  test('is made ready piece by piece, with a turn of the event loop between two', async () => {
    const { done } = watched([nothing, nothing])
    const after: number[] = [done.length]
    while (done.length < 3) {
      await turnOfLoop()
      after.push(done.length)
    }
    expect(done).toEqual(['load', 'open', 'load'])
    expect(after.every((count, turn) => turn === 0 || count - (after[turn - 1] ?? 0) <= 1)).toBe(true)
  })

  test('keeps records meanwhile, in order', async () => {
    const { queue, done } = watched([nothing, nothing])
    for (const hook of ['first', 'second']) queue.handleHook(hook, {}, undefined)
    expect(done).toEqual([])
    while (done.length < 5) await turnOfLoop()
    expect(done).toEqual(['load', 'open', 'first', 'second', 'load'])
  })

  test('loads the rest at once when records have waited for as long as a kill may cost', async () => {
    let at = 1_800_000_000_000
    const { queue, done } = watched([nothing, nothing, nothing], true, () => at)
    queue.handleHook('first', {}, undefined)
    await turnOfLoop()
    expect(done).toEqual(['load'])
    at += 101
    await turnOfLoop()
    expect(done).toEqual(['load', 'open', 'first'])
  })

  test.each<[string, (queue: RecordQueue) => unknown]>([
    ['stats', queue => queue.stats()],
    ['a flush', queue => queue.flush()],
    ['a trace context', queue => queue.traceparent({ session_id: 's' }, '')],
    ['a record that cannot be copied', queue => queue.handleHook('second', { value: new Map() }, undefined)],
  ])('does not wait for later modules when a caller requests %s', (_, ask) => {
    const { queue, done } = watched([nothing, nothing])
    queue.handleHook('first', {}, undefined)
    ask(queue)
    expect(done.slice(0, 2)).toEqual(['open', 'first'])
  })

  test('opens when the end of a session is awaited', () => {
    const { queue, done } = watched([nothing, nothing])
    const ended = queue.handleHook('on_session_end', {}, undefined)
    expect(done).toEqual([])
    void ended?.then()
    expect(done).toEqual(['open', 'on_session_end'])
  })

  test('opens in the call when a session ends in a process without exit listeners', () => {
    const { queue, done } = watched([nothing, nothing], true, undefined, true)
    void queue.handleHook('on_session_end', {}, undefined)
    expect(done).toEqual(['open', 'on_session_end'])
  })

  test('is opened and saved in the hook when the event loop was blocked for log_flush_ms', async () => {
    let at = 1_800_000_000_000
    const { queue, done } = watched([nothing, nothing], true, () => at)
    for (const hook of ['first', 'second', 'third']) {
      queue.handleHook(hook, {}, undefined)
      at += 100
    }
    expect(done).toEqual(['open', 'first', 'second', 'third', 'save'])
    queue.handleHook('fourth', {}, undefined)
    at += 200
    await turnOfLoop()
    queue.handleHook('fifth', {}, undefined)
    at += 199
    queue.handleHook('sixth', {}, undefined)
    expect(done.filter(each => each === 'save')).toHaveLength(1)
  })

  test('saves records that could not be copied as well', () => {
    let at = 1_800_000_000_000
    const { queue, done } = watched([nothing, nothing], true, () => at)
    queue.handleHook('first', { value: new Map() }, undefined)
    at += 200
    queue.handleHook('second', { value: new Map() }, undefined)
    expect(done).toEqual(['open', 'first', 'second', 'save'])
  })

  test('loads again when it opens after a failed load', async () => {
    const { queue, done } = watched([boom, nothing])
    while (!done.includes('open')) await turnOfLoop()
    expect(done).toEqual(['load', 'open'])
    expect(queue.stats().spansOpen).toBe(7)
  })

  test('answers everything where it cannot be started', async () => {
    const { queue, done } = watched([nothing], false)
    queue.handleHook('first', {}, undefined)
    expect(queue.stats()).toEqual(NO_STATS)
    expect(queue.traceparent({ session_id: 's' }, '')).toBeUndefined()
    expect(queue.context({ session_id: 's' }, '', ROOT_CONTEXT)).toBe(ROOT_CONTEXT)
    await expect(queue.handleHook('on_session_end', {}, undefined)).resolves.toBeUndefined()
    await expect(queue.flush()).resolves.toBeUndefined()
    queue.endAll()
    expect(done).toEqual(['open'])
  })

  test('is untouched until it receives a record, or is ready', () => {
    const { queue } = watched([nothing])
    expect(queue.isUnused).toBe(true)
    queue.handleHook('first', {}, undefined)
    expect(queue.isUnused).toBe(false)
    expect(watched(undefined).queue.isUnused).toBe(false)
  })
})

test.each<[string, (queue: RecordQueue) => unknown]>([
  ['the end of a session', queue => queue.handleHook('on_session_end', {}, undefined)],
  ['a record that cannot be copied', queue => queue.handleHook('pre_tool_call', { args: new Map() }, undefined)],
  ['the shutdown of a plugin', queue => queue.endAll()],
])('has the time of arrival for %s, however long loading takes', (_what, call) => {
  let clock = 1_800_000_000_000
  const times: number[] = []
  const queue = new RecordQueue({
    openCore: context => {
      clock += 300
      const note = (): void => void times.push(context.now())
      return { handleHook: note, endAll: note, stats: note, setDeferredAttributes: nothing } as unknown as Core
    },
    captureScope: { isFull: false, conversationHistory: false },
    loadSteps: open => each([nothing, nothing], [], open),
    isInline: false,
    flushesSessionEnd: true,
    earlyContexts: undefined,
    isSessionEndInline: false,
    maxUnwrittenMillis: Number.POSITIVE_INFINITY,
    save: nothing,
    activeSpan: () => undefined,
    now: () => clock,
  })
  call(queue)
  queue.stats()
  expect(times).toEqual([1_800_000_000_000, 1_800_000_000_300])
})

describe('in a process of its own', () => {
  const LOADED = `import { createRequire } from 'node:module'
    const loaded = () => Object.keys(createRequire(import.meta.url).cache).filter(path => /core-and-pipeline|opentelemetry/.test(path))
    const plugin = createPlugin({ backends: ['jaeger=http://127.0.0.1:1'] })`

  test.concurrent('loads no SDK to create a plugin and to emit, but soon afterwards', async () => {
    const ended = await runHost(
      `${LOADED}
       plugin.emit('on_session_start', { session_id: 's1' })
       console.log(loaded().length)
       while (loaded().length === 0) await new Promise(setImmediate)
       console.log(plugin.stats().spansOpen)
       process.exit()`,
      { HOME: scratchHome() },
    )
    expect(ended).toMatchObject({ code: 0, stdout: '0\n1\n', stderr: '' })
  })

  test.concurrent('measures a turn of five hooks in one tick without the loading at its end', async () => {
    const ended = await runHost(
      `import { readFileSync } from 'node:fs'
       // Each look at the clock is a second later than the one before: loading takes long.
       let at = Date.now()
       Date.now = () => (at += 1000)
       const plugin = createPlugin({ host: 'toy', backends: [] })
       const ids = { session_id: 's1', turn_id: 't1' }
       plugin.emit('on_session_start', ids)
       plugin.emit('pre_llm_call', ids)
       plugin.emit('pre_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: 'c1' })
       plugin.emit('post_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: 'c1', status: 'ok' })
       const before = at
       const flushed = plugin.emit('on_session_end', { ...ids, completed: true })
       await flushed
       await plugin.shutdown()
       const text = readFileSync(plugin.stats().traceFiles[0], 'utf8')
       // The log notes the turn while it is open, too.
       const spans = text.match(/"name":"agent".*?"endTimeUnixNano":"\\d+"/g).at(-1)
       console.log(Math.round(Number(/endTimeUnixNano":"(\\d+)"/.exec(spans)[1]) / 1e6 - before))`,
      { HOME: scratchHome() },
    )
    expect(ended).toMatchObject({ code: 0, stdout: '1000\n', stderr: '' })
  })

  test.concurrent('opens nothing in a program that ends without a hook', async () => {
    const home = scratchHome()
    const ended = await runHost(`${LOADED}\nprocess.on('exit', () => console.log(loaded().length))\nprocess.exit()`, {
      HOME: home,
    })
    expect(ended).toMatchObject({ code: 0, stdout: '0\n', stderr: '' })
    expect(existsSync(join(home, '.local'))).toBe(false)
  })
})
