/** On Windows, a file that was opened for appending cannot be truncated. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { type ReceivedRequest, RequestJournal } from '../../src/receiver/request-journal.ts'
import { afterwards } from '../support/afterwards.ts'

const appending = vi.hoisted(() => new Set<number>())

vi.mock('node:fs', async original => {
  const real = await original<typeof import('node:fs')>()
  const openSync = (path: string, flags: number, mode?: number): number => {
    const descriptor = real.openSync(path, flags, mode)
    if ((flags & real.constants.O_APPEND) === 0) appending.delete(descriptor)
    else appending.add(descriptor)
    return descriptor
  }
  const ftruncateSync = (descriptor: number, length: number): void => {
    if (appending.has(descriptor)) throw Object.assign(new Error('refused'), { code: 'EPERM' })
    real.ftruncateSync(descriptor, length)
  }
  return { ...real, openSync, ftruncateSync }
})

test('empties its file in place, and writes the next request at the start', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-requests-'))
  afterwards(() => rmSync(folder, { recursive: true, force: true }))
  const request = (id: string): ReceivedRequest => ({ path: '/echo', at: 1, id, headers: {}, bytes: Buffer.from(id) })
  const journal = new RequestJournal(folder, { warn: line => expect.fail(line) })
  const settle = journal.appendRequest(request('a'))
  const [name = ''] = readdirSync(folder)
  const { ino } = statSync(join(folder, name))
  settle()
  expect(statSync(join(folder, name))).toMatchObject({ ino, size: 0 })
  journal.appendRequest(request('b'))
  expect(readFileSync(join(folder, name), 'utf8')).toMatch(/^\{.*"id":"b".*\}\nb\n$/)
})
