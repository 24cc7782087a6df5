import { appendFileSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { AppendedLineReader } from '../../src/agents/base/agent-file.ts'
import { scratchFolder } from './claude-code/transcript.ts'

/** Lines that are read, with `|` where the reader says that something is missing. */
async function readAll(reader: AppendedLineReader, path: string): Promise<string[]> {
  const read: string[] = []
  await reader.readFrom(
    open(path),
    line => read.push(line),
    () => read.push('|'),
  )
  return read
}

test('reads each complete line once', async () => {
  const { path } = scratchFolder()
  const reader = new AppendedLineReader()
  writeFileSync(path, 'one\ntwo\nthr')
  expect(await readAll(reader, path)).toEqual(['one', 'two'])
  appendFileSync(path, 'ee\n')
  expect(await readAll(reader, path)).toEqual(['three'])
  expect(await readAll(reader, path)).toEqual([])
})

test('reads lines longer than a chunk', async () => {
  const { path } = scratchFolder()
  const long = 'é'.repeat(400_000)
  writeFileSync(path, `a\n${long}\nb\n`)
  expect(await readAll(new AppendedLineReader(), path)).toEqual(['a', long, 'b'])
})

test('reads only the end if too much is new', async () => {
  const { path } = scratchFolder()
  writeFileSync(path, 'aaaa\nbbbb\ncccc\ndddd\n')
  expect(await readAll(new AppendedLineReader({ maxBytes: 12 }), path)).toEqual(['|', 'cccc', 'dddd'])
})

test('skips a line that is too long', async () => {
  const { path } = scratchFolder()
  const reader = new AppendedLineReader({ maxLineBytes: 10 })
  writeFileSync(path, `a\n${'x'.repeat(300_000)}`)
  expect(await readAll(reader, path)).toEqual(['a'])
  appendFileSync(path, `${'x'.repeat(300_000)}\nb\n`)
  expect(await readAll(reader, path)).toEqual(['b'])
})

test('restarts if the file was truncated', async () => {
  const { path } = scratchFolder()
  const reader = new AppendedLineReader()
  writeFileSync(path, 'one\ntwo\n')
  await readAll(reader, path)
  writeFileSync(path, 'new\n')
  expect(await readAll(reader, path)).toEqual(['|', 'new'])
})

test('continues at the same place after two reads at the same time', async () => {
  const { path } = scratchFolder()
  const reader = new AppendedLineReader()
  writeFileSync(path, 'one\ntwo\n')
  await Promise.all([readAll(reader, path), readAll(reader, path)])
  appendFileSync(path, 'three\n')
  expect(await readAll(reader, path)).toEqual(['three'])
})
