/** On Windows, a file that was opened for appending cannot be truncated. */
import fs, { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ReceivedRequest, RequestJournal } from '../../src/receiver/request-journal.ts'
import { afterwards } from '../support/afterwards.ts'
import { replaceBuiltin } from '../support/replaced-builtin.ts'

const appending = new Set<number>()

replaceBuiltin(fs, ({ openSync, ftruncateSync, constants }) => ({
  openSync(path, flags, mode) {
    const descriptor = openSync(path, flags, mode)
    if ((Number(flags) & constants.O_APPEND) === 0) appending.delete(descriptor)
    else appending.add(descriptor)
    return descriptor
  },
  ftruncateSync(descriptor, length) {
    if (appending.has(descriptor)) throw Object.assign(new Error('refused'), { code: 'EPERM' })
    ftruncateSync(descriptor, length)
  },
}))

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
