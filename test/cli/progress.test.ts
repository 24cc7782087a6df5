import { expect, test } from 'vitest'
import { Progress } from '../../src/cli/terminal.ts'
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

test('draws its line every 200 ms at most', () => {
  const { io, pass } = watched(80)
  const progress = new Progress(io)
  for (let millis = 0; millis < 1000; millis += 10) {
    pass(10)
    progress.update(0, () => 'x')
  }
  expect(io.written.stderr).toBe(`${CLEAR_LINE}x`.repeat(5))
  progress.end()
  expect(io.written.stderr.endsWith(CLEAR_LINE)).toBe(true)
})

test('computes its text only when it is shown', () => {
  const { io, pass } = watched(80)
  const progress = new Progress(io)
  progress.update(0, () => expect.fail('too early'))
  pass(500)
  progress.update(0, seconds => `${300 / seconds} a second`)
  expect(io.written.stderr).toBe(`${CLEAR_LINE}600 a second`)
})

test.each([
  ['too early to say how long', 400, 10, 'x · 1 %'],
  ['half of it', 4_000, 500, 'x · 50 % · 4 s left'],
  ['a part of a second is one', 10_000, 990, 'x · 99 % · 1 s left'],
  ['minutes', 60_000, 250, 'x · 25 % · 3 m 00 s left'],
  ['less than a hundredth', 60_000, 9, 'x · 0 %'],
  ['all of it', 60_000, 1000, 'x · 100 %'],
  ['a file that has grown meanwhile', 60_000, 1200, 'x · 100 %'],
])('shows the share and the remaining time: %s', (_what, millis, bytes, shown) => {
  const { io, pass } = watched(80)
  const progress = new Progress(io, 1000)
  pass(millis)
  progress.update(bytes, () => 'x')
  expect(io.written.stderr).toBe(CLEAR_LINE + shown)
  expect(progress.share).toBe(/\d+ %/.exec(shown)?.[0])
})

test.each([undefined, 0])('shows no share of %s bytes', total => {
  const { io, pass } = watched(80)
  const progress = new Progress(io, total)
  pass(5000)
  progress.update(70, () => 'x')
  expect(io.written.stderr).toBe(`${CLEAR_LINE}x`)
  expect(progress.share).toBeUndefined()
})

test('never wraps the line on a narrow terminal, because it could not be erased', () => {
  const { io } = watched(10)
  new Progress(io).showStep('0123456789')
  expect(io.written.stderr).toBe(`${CLEAR_LINE}012345678`)
})

test('erases the line only if there is one', () => {
  const { io } = watched(80)
  const progress = new Progress(io)
  progress.end()
  expect(io.written.stderr).toBe('')
  progress.showStep('delivering …')
  progress.end()
  progress.end()
  expect(io.written.stderr).toBe(`${CLEAR_LINE}delivering …${CLEAR_LINE}`)
})

test('prints another line separately', () => {
  const { io } = watched(80)
  const progress = new Progress(io)
  progress.showStep('working …')
  progress.stderr.write('hookspan: oh\n')
  progress.stderr.write('and more\n')
  expect(io.written.stderr).toBe(`${CLEAR_LINE}working …${CLEAR_LINE}hookspan: oh\nand more\n`)
})

test('prints nothing without a terminal, and still knows the share', () => {
  const { io, pass } = watched()
  const progress = new Progress(io, 100)
  pass(10_000)
  progress.update(50, () => expect.fail('nobody watches'))
  progress.showStep('delivering …')
  progress.end()
  expect(io.written.stderr).toBe('')
  expect(progress.share).toBe('50 %')
})
