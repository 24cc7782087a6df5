import { expect, test } from 'vitest'
import { Progress } from '../../src/cli/progress.ts'
import { fakeIo } from './fake-io.ts'

const CLEAR_LINE = '\r\u001b[K'

function watched(columns?: number): { io: ReturnType<typeof fakeIo>; pass(millis: number): void } {
  let at = 1000
  const io = { ...fakeIo(columns === undefined ? {} : { columns }), now: () => at }
  return {
    io,
    pass(millis) {
      at += millis
    },
  }
}

function steps(progress: Progress, count: number): void {
  for (let step = 0; step < count; step += 1) progress.step()
}

test('records, spans and rate, on one line, a few times a second', () => {
  const { io, pass } = watched(80)
  const progress = new Progress(() => 700, io)
  steps(progress, 1000)
  expect(io.written.stderr).toBe('')
  pass(250)
  steps(progress, 400)
  expect(io.written.stderr).toBe(`${CLEAR_LINE}1 100 records · 700 spans · 4 400 records/s`)
  progress.end()
  expect(io.written.stderr.endsWith(CLEAR_LINE)).toBe(true)
})

test('the line goes away only where there is one', () => {
  const { io } = watched(80)
  const progress = new Progress(() => 0, io)
  progress.end()
  expect(io.written.stderr).toBe('')
  progress.say('delivering …')
  progress.end()
  progress.end()
  expect(io.written.stderr).toBe(`${CLEAR_LINE}delivering …${CLEAR_LINE}`)
})

test('a share and the time that is left, where the end is known', () => {
  const { io, pass } = watched(80)
  const progress = new Progress(() => 0, io)
  progress.share(1, 10, 'reading')
  expect(io.written.stderr).toBe('')
  pass(500)
  progress.share(1, 100, 'reading')
  expect(io.written.stderr).toBe(`${CLEAR_LINE}reading · 1 %`)
  pass(500)
  progress.share(2, 10, 'reading')
  expect(io.written.stderr).toBe(`${CLEAR_LINE}reading · 1 %${CLEAR_LINE}reading · 20 % · 4 s left`)
  pass(100)
  progress.share(3, 10, 'reading')
  expect(io.written.stderr).toBe(`${CLEAR_LINE}reading · 1 %${CLEAR_LINE}reading · 20 % · 4 s left`)
  pass(2_900)
  progress.share(12, 10, 'reading')
  expect(io.written.stderr.endsWith(`${CLEAR_LINE}reading · 100 % · 0 s left`)).toBe(true)
})

test('nothing where nobody watches', () => {
  const { io, pass } = watched()
  const progress = new Progress(() => 0, io)
  pass(10_000)
  steps(progress, 1000)
  progress.say('delivering …')
  progress.share(1, 2, 'reading')
  progress.end()
  expect(io.written.stderr).toBe('')
})
