import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

type Fill = (folder: string) => Promise<Record<string, string>>

interface Cache {
  readonly CACHE: string
  once(name: string, fill: Fill, wish?: object): Promise<Record<string, string>>
}

const home = mkdtempSync(join(tmpdir(), 'hookspan-cache-'))
const before = process.env['XDG_CACHE_HOME']
let cache: Cache
let filled = 0

beforeAll(async () => {
  process.env['XDG_CACHE_HOME'] = home
  const script = new URL('../../../scripts/backend-install/cache.mjs', import.meta.url).href
  cache = (await import(script)) as Cache
})

afterAll(() => {
  if (before === undefined) delete process.env['XDG_CACHE_HOME']
  else process.env['XDG_CACHE_HOME'] = before
  rmSync(home, { recursive: true, force: true })
})

async function fill(folder: string): Promise<Record<string, string>> {
  filled += 1
  const program = join(folder, 'program')
  writeFileSync(program, '', { flag: 'wx' })
  return { program, note: 'built' }
}

const made = (name: string): Promise<Record<string, string>> => cache.once(name, fill)

test('fills a folder once, and remembers its description', async () => {
  filled = 0
  const first = await made('a@1')
  expect(first).toEqual({ program: join(cache.CACHE, 'a@1', 'program'), note: 'built' })
  expect(await made('a@1')).toEqual(first)
  expect(filled).toBe(1)
})

test('fills it once for two at once', async () => {
  filled = 0
  const [one, other] = await Promise.all([made('b@1'), made('b@1')])
  expect(one).toEqual(other)
  expect(filled).toBe(1)
})

test("builds an interrupted one anew, in spite of the dead process's lock", async () => {
  filled = 0
  mkdirSync(join(cache.CACHE, 'c@1'), { recursive: true })
  writeFileSync(join(cache.CACHE, 'c@1', 'half'), '')
  // No process has so high a number.
  writeFileSync(join(cache.CACHE, 'c@1.lock'), '99999999')
  await made('c@1')
  expect(filled).toBe(1)
})

test('builds one anew whose program is gone', async () => {
  filled = 0
  const { program = '' } = await made('d@1')
  rmSync(program)
  await made('d@1')
  expect(filled).toBe(2)
})

test('builds one anew that has other sources', async () => {
  filled = 0
  await cache.once('f@1', fill, { parts: ['x'] })
  await cache.once('f@1', fill, { parts: ['x'] })
  expect(filled).toBe(1)
  await cache.once('f@1', fill, { parts: ['x', 'y'] })
  expect(filled).toBe(2)
})

test('leaves no folder after a failure', async () => {
  filled = 0
  await expect(cache.once('e@1', () => Promise.reject(new Error('no network')))).rejects.toThrow('no network')
  await made('e@1')
  expect(filled).toBe(1)
})
