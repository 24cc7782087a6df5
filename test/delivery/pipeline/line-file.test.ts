import { execFileSync } from 'node:child_process'
import { constants, statSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LineFile } from '../../../src/delivery/pipeline/line-file.ts'
import { scratchDirectory } from './pipeline-fixture.ts'

const LINE = Buffer.from('{}')

const unwritable = [[tmpdir(), 'EISDIR']]
// Every write to this device fails for want of room, and below /proc no directory can be made.
if (process.platform === 'linux') unwritable.push(['/dev/full', 'ENOSPC'], ['/proc/hookspan/deeper/lines', 'ENOENT'])

test.each(unwritable)('reports %s as a failure and tries each line', async (path, code) => {
  const file = new LineFile(String(path))
  for (let tries = 0; tries < 2; tries++) {
    expect(await file.deliver([LINE])).toEqual({ ok: false, failure: { kind: 'file', code, path } })
  }
  await file.close()
})

test('fails on a pipe without a reader, and writes once there is one', async () => {
  const path = join(await scratchDirectory(), 'pipe')
  execFileSync('mkfifo', [path])
  const file = new LineFile(path)
  expect(await file.deliver([LINE])).toEqual({ ok: false, failure: { kind: 'file', code: 'ENXIO', path } })
  const reader = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  expect(await file.deliver([LINE])).toEqual({ ok: true })
  expect((await reader.read(Buffer.alloc(9))).bytesRead).toBe(LINE.length + 1)
  await Promise.all([reader.close(), file.close()])
})

test('creates missing directories, private to the owner', async () => {
  const directory = await scratchDirectory()
  const path = join(directory, 'a', 'b', 'lines')
  const file = new LineFile(path)
  expect(await file.deliver([LINE])).toEqual({ ok: true })
  await file.close()
  const modes = [join(directory, 'a'), join(directory, 'a', 'b'), path].map(each => statSync(each).mode & 0o777)
  expect(modes).toEqual([0o700, 0o700, 0o600])
})

test('writes whole lines in order, and can be closed twice', async () => {
  const path = join(await scratchDirectory(), 'lines')
  const file = new LineFile(path)
  for (const line of ['one', 'two', 'three']) expect(await file.deliver([Buffer.from(line)])).toEqual({ ok: true })
  await file.close()
  await file.close()
  expect(await readFile(path, 'utf8')).toBe('one\ntwo\nthree\n')
})
