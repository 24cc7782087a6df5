import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type ReceivedRequest, RequestJournal } from '../../src/receiver/request-journal.ts'
import { afterwards } from '../support/afterwards.ts'

let folder: string
let lines: string[]
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'hookspan-requests-')), 'journal')
  lines = []
  afterwards(() => rmSync(join(folder, '..'), { recursive: true, force: true }))
})

const opened = (): RequestJournal => new RequestJournal(folder, { warn: line => lines.push(line) })
const files = (): string[] => readdirSync(folder).filter(name => name.startsWith('requests-'))
const written = (): string =>
  files()
    .map(name => readFileSync(join(folder, name), 'latin1'))
    .join('')

function request(id: string, body: string | Buffer = `{"event":"${id}"}`): ReceivedRequest {
  return {
    path: '/echo',
    at: 1_795_256_000_000,
    id,
    headers: { 'content-type': 'application/json' },
    bytes: Buffer.from(body),
  }
}

/** What the next receiver finds, in order. */
const recovered = (): ReceivedRequest[] => [...opened().takeRecovered()].map(({ request: found }) => found)

test('keeps a request until it is settled', () => {
  const journal = opened()
  const settle = journal.appendRequest(request('a'))
  expect(written()).toContain('{"event":"a"}')
  expect(recovered()).toEqual([request('a')])
  settle()
  expect(written()).toBe('')
})

test('reads the files after an unreadable one', () => {
  opened().appendRequest(request('a'))
  mkdirSync(join(folder, 'requests-00000000'))
  expect(recovered()).toEqual([request('a')])
  expect(lines).toEqual([expect.stringMatching(/requests-00000000 cannot be read \(\w+\): its requests are lost/)])
})

test('recovers unsettled requests, in order, whatever their content', () => {
  const journal = opened()
  journal.appendRequest(request('a', 'a line\n{"path":"/echo"}\n\n'))
  const settle = journal.appendRequest(request('b'))
  journal.appendRequest(request('c', Buffer.from([0, 10, 255, 13])))
  journal.appendRequest(request('d', ''))
  settle()
  // Of a file everything is read: what was settled is known by its id.
  expect(recovered().map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd'])
  expect(recovered()[0]).toEqual(request('a', 'a line\n{"path":"/echo"}\n\n'))
  expect(recovered()[2]?.bytes).toEqual(Buffer.from([0, 10, 255, 13]))
})

test('removes the file of an earlier receiver when all its requests are settled', () => {
  const before = opened()
  before.appendRequest(request('a'))
  before.appendRequest(request('b'))
  const journal = opened()
  const [a, b] = journal.takeRecovered()
  journal.appendRequest(request('c'))
  a?.settle()
  a?.settle()
  expect(files()).toHaveLength(2)
  b?.settle()
  expect(files()).toHaveLength(1)
  expect(recovered().map(({ id }) => id)).toEqual(['c'])
})

test('rotates a large file, and removes it when its last request is settled', () => {
  const journal = opened()
  const settle = journal.appendRequest(request('a', 'x'.repeat(5_000_000)))
  const settleNext = journal.appendRequest(request('b'))
  expect(files()).toHaveLength(2)
  expect(recovered().map(({ id }) => id)).toEqual(['a', 'b'])
  settle()
  expect(files()).toHaveLength(1)
  settleNext()
  expect(written()).toBe('')
})

test('writes on when a request of an earlier file is settled, whose descriptor the new file has', () => {
  const journal = opened()
  const settle = journal.appendRequest(request('large', 'x'.repeat(5_000_000)))
  journal.appendRequest(request('b'))
  settle()
  journal.appendRequest(request('c'))
  expect(lines).toEqual([])
  expect(recovered().map(({ id }) => id)).toEqual(['b', 'c'])
})

test('leaves no file if all is settled when it is closed', () => {
  const journal = opened()
  journal.appendRequest(request('a'))()
  journal.close()
  expect(files()).toEqual([])
  const another = opened()
  another.appendRequest(request('b'))
  another.close()
  expect(recovered().map(({ id }) => id)).toEqual(['b'])
})

describe('a file that is not whole', () => {
  test('loses the request that was being written when its receiver was killed, in silence', () => {
    const journal = opened()
    journal.appendRequest(request('a'))
    journal.appendRequest(request('b', 'x'.repeat(100)))
    const [name = ''] = files()
    const content = readFileSync(join(folder, name))
    for (const cut of [1, 50, 110, 150]) {
      writeFileSync(join(folder, name), content.subarray(0, content.length - cut))
      expect(recovered().map(({ id }) => id)).toEqual(['a'])
    }
    expect(lines).toEqual([])
  })

  test('reports the byte from which a damaged file is lost', () => {
    opened().appendRequest(request('a'))
    const [name = ''] = files()
    const { length } = readFileSync(join(folder, name))
    appendFileSync(join(folder, name), 'nonsense\nmore nonsense\n')
    expect(recovered().map(({ id }) => id)).toEqual(['a'])
    expect(lines).toEqual([`${join(folder, name)} is damaged: the requests from byte ${length} on are lost`])
  })
})

describe('an unwritable journal', () => {
  test('is reported once, and costs nothing else', () => {
    mkdirSync(join(folder, '..'), { recursive: true })
    writeFileSync(folder, 'a file')
    const journal = opened()
    for (const id of ['a', 'b']) journal.appendRequest(request(id))()
    journal.close()
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/^journal: requests cannot be written to .*Recording goes on/)
  })

  test('is not written where a link leads elsewhere', () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    symlinkSync('/etc/hostname', join(folder, 'requests-00000001'))
    opened()
    expect(lines[0]).toMatch(/ELOOP/)
  })

  test('creates a new file if the old one was removed', () => {
    const journal = opened()
    journal.appendRequest(request('a'))()
    for (const name of files()) rmSync(join(folder, name))
    journal.appendRequest(request('b'))
    expect(recovered().map(({ id }) => id)).toEqual(['b'])
  })
})
