import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { thisOwner } from '../../../src/delivery/trace-log/index.ts'
import {
  addressOf,
  type OtherView,
  type RunningView,
  startView,
  urlOf,
  type ViewerOptions,
  viewDirectory,
} from '../../../src/viewer/server/start.ts'
import type { TraceSource } from '../../../src/viewer/trace-index/trace-index.ts'
import { afterwards } from '../../support/afterwards.ts'
import { NOTHING, NOW, PAGE, scratch } from './viewing.ts'

async function start(
  directory: string | undefined,
  more: Partial<ViewerOptions> = {},
): Promise<RunningView | OtherView> {
  const started = await startView({
    directory,
    port: undefined,
    page: PAGE,
    version: '1.2.3',
    openSource: async () => NOTHING,
    now: () => NOW,
    say: () => undefined,
    ...more,
  })
  if ('close' in started) afterwards(() => started.close())
  return started
}

function running(started: RunningView | OtherView): RunningView {
  if (!('close' in started)) throw new Error(`another one runs: ${started.already.pid}`)
  return started
}

describe('the viewer of a trace log', () => {
  test('writes its address for its user alone, and removes it at the end', async () => {
    const directory = join(scratch(), 'view')
    const { url, close } = running(await start(directory))
    const file = join(directory, 'address.json')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    const address = JSON.parse(readFileSync(file, 'utf8')) as { pid: number; port: number; token: string }
    expect(url).toBe(`http://127.0.0.1:${address.port}/#k=${address.token}`)
    expect(address.token).toMatch(/^[\w-]{32}$/)
    expect((await fetch(`http://127.0.0.1:${address.port}/`)).status).toBe(200)
    await close()
    expect(existsSync(file)).toBe(false)
  })

  test('is one: a second call gets its address, and opens nothing', async () => {
    const directory = join(scratch(), 'view')
    const first = running(await start(directory))
    const second = await start(directory, { openSource: () => Promise.reject(new Error('it was opened')) })
    expect('already' in second && urlOf(second.already)).toBe(first.url)
    await first.close()
    const third = running(await start(directory))
    expect(third.url).not.toBe(first.url)
  })

  test('serves on if its directory is deleted', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    afterwards(() => vi.useRealTimers())
    const directory = join(scratch(), 'view')
    const { url, close } = running(await start(directory))
    rmSync(directory, { recursive: true })
    vi.advanceTimersByTime(120_000)
    expect((await fetch(url)).status).toBe(200)
    await close()
  })

  test('replaces one that has died', async () => {
    const directory = join(scratch(), 'view')
    const first = running(await start(directory))
    // As it stays behind when a process is killed: the lock of a process that was born at another time.
    writeFileSync(join(directory, 'lock.7'), `${thisOwner().place}-${process.pid}-1`)
    expect(running(await start(directory)).url).not.toBe(first.url)
  })

  test('lets another one begin when it could not', async () => {
    const directory = join(scratch(), 'view')
    const openSource = () => Promise.reject(new Error('the disk is gone'))
    await expect(start(directory, { openSource })).rejects.toThrow('the disk is gone')
    expect(existsSync(join(directory, 'address.json'))).toBe(false)
    running(await start(directory))
  })

  test('believes no address that others could have written', async () => {
    const directory = join(scratch(), 'view')
    const { close } = running(await start(directory))
    const elsewhere = join(scratch(), 'address.json')
    writeFileSync(elsewhere, JSON.stringify({ pid: process.pid, port: 1, token: 'x'.repeat(32) }))
    await close()
    symlinkSync(elsewhere, join(directory, 'address.json'))
    expect(addressOf(directory, thisOwner())).toBeUndefined()
  })
})

test('serves the page while the source is opened, and data afterwards', async () => {
  let finish: (source: TraceSource) => void = () => undefined
  const openSource = () => new Promise<TraceSource>(resolve => (finish = resolve))
  const url = new Promise<string>(resolve => void start(undefined, { openSource, showUrl: resolve }))
  const { origin, hash } = new URL(await url)
  expect((await fetch(origin)).status).toBe(200)
  const status = fetch(`${origin}/api/status`, { headers: { authorization: `Bearer ${hash.slice('#k='.length)}` } })
  finish(NOTHING)
  expect((await status).status).toBe(200)
})

test('may run any number of times for a file', async () => {
  const [first, second] = [running(await start(undefined)), running(await start(undefined))]
  expect(first.url).not.toBe(second.url)
})

test('reports a port in use in one line', async () => {
  const other = createServer()
  await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
  afterwards(() => other.close())
  const { port } = other.address() as { port: number }
  await expect(start(undefined, { port })).rejects.toThrow(
    `port ${port} cannot be used: another program listens there; choose another with --port, or leave it out`,
  )
})

test('needs a home directory', () => {
  expect(() => viewDirectory({}, '')).toThrow('there is no home directory')
})
