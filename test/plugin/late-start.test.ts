/** What takes long at a start is loaded and opened between two turns of the event loop, or as soon as it is needed. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { ROOT_CONTEXT } from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { Intake, NOTHING_TAKEN } from '../../src/plugin/intake.ts'
import { RecordCopier } from '../../src/plugin/record-copy.ts'
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

/** An intake, and what it has done so far. */
function watched(loads: readonly (() => unknown)[] | undefined, isStarted = true, now = () => 1_800_000_000_000) {
  const done: string[] = []
  const core = {
    handleHook: (hook: string) => void done.push(hook),
    stats: () => ({ ...NOTHING_TAKEN, spansOpen: 7 }),
    flush: () => Promise.resolve(),
    traceparent: () => undefined,
    setDeferredAttributes: () => undefined,
    endAll: () => void done.push('end'),
  } as unknown as Core
  const intake = new Intake({
    createCore: () => {
      done.push('open')
      return isStarted ? core : undefined
    },
    copier: new RecordCopier({ isFull: false, conversationHistory: false }),
    pieces: loads && (open => each(loads, done, open)),
    isDirect: false,
    flushesAtEnd: true,
    unwrittenMillis: 200,
    save: () => void done.push('save'),
    activeSpan: () => undefined,
    now,
  })
  return { intake, done }
}

const nothing = (): void => undefined

function boom(): never {
  throw new Error('too many files')
}

describe('a plugin that was made', () => {
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

  test('keeps what it is told meanwhile, in order', async () => {
    const { intake, done } = watched([nothing, nothing])
    for (const hook of ['first', 'second']) intake.on(hook, {}, undefined)
    expect(done).toEqual([])
    while (done.length < 5) await turnOfLoop()
    expect(done).toEqual(['load', 'open', 'first', 'second', 'load'])
  })

  test('loads the rest in one go when what it was told has waited for as long as a kill may cost', async () => {
    let at = 1_800_000_000_000
    const { intake, done } = watched([nothing, nothing, nothing], true, () => at)
    intake.on('first', {}, undefined)
    await turnOfLoop()
    expect(done).toEqual(['load'])
    at += 101
    await turnOfLoop()
    expect(done).toEqual(['load', 'open', 'first'])
  })

  test.each<[string, (intake: Intake) => unknown]>([
    ['stats', intake => intake.stats()],
    ['a flush', intake => intake.flush()],
    ['a trace context', intake => intake.traceparent({ session_id: 's' }, '')],
    ['what cannot be copied', intake => intake.on('second', { value: new Map() }, undefined)],
  ])('waits for no piece when %s is asked for', (_, ask) => {
    const { intake, done } = watched([nothing, nothing])
    intake.on('first', {}, undefined)
    ask(intake)
    expect(done.slice(0, 2)).toEqual(['open', 'first'])
  })

  test('opens in the call when a session ends', () => {
    const { intake, done } = watched([nothing, nothing])
    void intake.on('on_session_end', {}, undefined)
    expect(done).toEqual(['open', 'on_session_end'])
  })

  test('is opened and saved in the hook when the event loop has been held for log_flush_ms', async () => {
    let at = 1_800_000_000_000
    const { intake, done } = watched([nothing, nothing], true, () => at)
    for (const hook of ['first', 'second', 'third']) {
      intake.on(hook, {}, undefined)
      at += 100
    }
    expect(done).toEqual(['open', 'first', 'second', 'third', 'save'])
    intake.on('fourth', {}, undefined)
    at += 200
    await turnOfLoop()
    intake.on('fifth', {}, undefined)
    at += 199
    intake.on('sixth', {}, undefined)
    expect(done.filter(each => each === 'save')).toHaveLength(1)
  })

  test('saves what could not be copied as well', () => {
    let at = 1_800_000_000_000
    const { intake, done } = watched([nothing, nothing], true, () => at)
    intake.on('first', { value: new Map() }, undefined)
    at += 200
    intake.on('second', { value: new Map() }, undefined)
    expect(done).toEqual(['open', 'first', 'second', 'save'])
  })

  test('tries again what could not be loaded, when it opens', async () => {
    const { intake, done } = watched([boom, nothing])
    while (!done.includes('open')) await turnOfLoop()
    expect(done).toEqual(['load', 'open'])
    expect(intake.stats().spansOpen).toBe(7)
  })

  test('answers everything where it cannot be started', async () => {
    const { intake, done } = watched([nothing], false)
    intake.on('first', {}, undefined)
    expect(intake.stats()).toEqual(NOTHING_TAKEN)
    expect(intake.traceparent({ session_id: 's' }, '')).toBeUndefined()
    expect(intake.context({ session_id: 's' }, '', ROOT_CONTEXT)).toBe(ROOT_CONTEXT)
    expect(intake.on('on_session_end', {}, undefined)).toBeUndefined()
    await expect(intake.flush()).resolves.toBeUndefined()
    intake.endAll()
    expect(done).toEqual(['open'])
  })

  test('is untouched until it is told something, or is ready', () => {
    const { intake } = watched([nothing])
    expect(intake.isUntouched).toBe(true)
    intake.on('first', {}, undefined)
    expect(intake.isUntouched).toBe(false)
    expect(watched(undefined).intake.isUntouched).toBe(false)
  })
})

test.each<[string, (intake: Intake) => unknown]>([
  ['the end of a session', intake => intake.on('on_session_end', {}, undefined)],
  ['a record that cannot be copied', intake => intake.on('pre_tool_call', { args: new Map() }, undefined)],
  ['the shutdown of a plugin', intake => intake.endAll()],
])('%s has the time of its arrival, however long loading takes', (_what, call) => {
  let clock = 1_800_000_000_000
  const times: number[] = []
  const intake = new Intake({
    createCore: outside => {
      clock += 300
      const note = (): void => void times.push(outside.now())
      return { handleHook: note, endAll: note, stats: note, setDeferredAttributes: nothing } as unknown as Core
    },
    copier: new RecordCopier({ isFull: false, conversationHistory: false }),
    pieces: open => each([nothing, nothing], [], open),
    isDirect: false,
    flushesAtEnd: true,
    unwrittenMillis: Number.POSITIVE_INFINITY,
    save: nothing,
    activeSpan: () => undefined,
    now: () => clock,
  })
  call(intake)
  intake.stats()
  expect(times).toEqual([1_800_000_000_000, 1_800_000_000_300])
})

describe('in a process of its own', () => {
  const LOADED = `import { createRequire } from 'node:module'
    const loaded = () => Object.keys(createRequire(import.meta.url).cache).filter(path => path.includes('/sdk-'))
    const plugin = createPlugin({ backends: ['jaeger=http://127.0.0.1:1'] })`

  test.concurrent('to make a plugin, and to tell it something, loads no SDK; it is there soon', async () => {
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

  test.concurrent('a turn of five hooks in one tick lasts no longer than that, whatever is loaded in its end', async () => {
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

  test.concurrent('a program that ends with nothing told opens nothing', async () => {
    const home = scratchHome()
    const ended = await runHost(`${LOADED}\nprocess.on('exit', () => console.log(loaded().length))\nprocess.exit()`, {
      HOME: home,
    })
    expect(ended).toMatchObject({ code: 0, stdout: '0\n', stderr: '' })
    expect(existsSync(join(home, '.local'))).toBe(false)
  })
})
