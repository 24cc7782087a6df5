import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LineFile } from '../../src/pipeline/line-file.ts'
import { scratchDirectory } from './pipeline-fixture.ts'

const unwritable = [[tmpdir(), 'EISDIR']]
// Every write to this device fails for want of room.
if (process.platform === 'linux') unwritable.push(['/dev/full', 'ENOSPC'])

test.each(unwritable)('%s is a failure, not an exception, and each line is tried', async (path, code) => {
  const file = new LineFile(String(path))
  for (let tries = 0; tries < 2; tries++) {
    expect(await file.deliver([Buffer.from('{}')])).toEqual({ ok: false, failure: { kind: 'file', code, path } })
  }
  await file.close()
})

test('lines are whole and in order, and closing twice is fine', async () => {
  const path = join(await scratchDirectory(), 'lines')
  const file = new LineFile(path)
  for (const line of ['one', 'two', 'three']) expect(await file.deliver([Buffer.from(line)])).toEqual({ ok: true })
  await file.close()
  await file.close()
  expect(await readFile(path, 'utf8')).toBe('one\ntwo\nthree\n')
})
