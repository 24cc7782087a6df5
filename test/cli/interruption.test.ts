import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StopSignal } from '../../src/cli/command.ts'
import { demo as demoCommand } from '../../src/cli/commands/demo.ts'
import { replay as replayCommand } from '../../src/cli/commands/replay.ts'
import { send as sendCommand } from '../../src/cli/commands/send.ts'
import { tree as treeCommand } from '../../src/cli/commands/tree.ts'
import { exportLine, SAMPLE_TURN } from '../reading/sample-turn.ts'
import { OtlpSink } from '../support/otlp-sink.ts'
import { type FakeIo, fakeIo } from './fake-io.ts'
import { asLines, generatedRecords } from './generated-records.ts'
import { REPOSITORY } from './program.ts'
import { ScratchReplay, spansIn } from './scratch-replay.ts'

const { run: demo } = demoCommand
const { run: replay } = replayCommand
const { run: send } = sendCommand
const { run: tree } = treeCommand

let scratch: ScratchReplay
let sink: OtlpSink
beforeEach(async () => {
  scratch = new ScratchReplay()
  sink = await OtlpSink.start({ kind: 'hanging' })
})
afterEach(async () => {
  await sink.stop()
  scratch.remove()
})

/** Interrupted when the clock is looked at for the n-th time, and never by time that passes. */
function interruptedAtLook(n: number, signal?: StopSignal, columns?: number): FakeIo {
  let looks = 0
  const io: FakeIo = fakeIo({
    home: scratch.home,
    ...(columns !== undefined && { columns }),
    now: () => {
      looks += 1
      if (looks === n) io.interrupt(signal)
      return 1000
    },
  })
  return io
}

/** Standard input that stays open. The clock is looked at for each record of it, and once at the beginning. */
function endless(text: string, io: FakeIo): FakeIo {
  let rest: string | undefined = text
  const stdin = new Readable({
    read() {
      if (rest !== undefined) this.push(rest)
      rest = undefined
    },
  })
  return { ...io, stdin }
}

const { records, spans } = generatedRecords(1000)

describe('Ctrl-C in a replay', () => {
  test('writes received input whole while waiting for more, with a count in the summary', async () => {
    const io = interruptedAtLook(1 + records.length)
    const out = scratch.path('out.jsonl')
    expect(await replay(['-', '--out', out], endless(asLines(records), io))).toBe(130)
    expect(spansIn(out)).toHaveLength(spans)
    expect(io.written).toEqual({
      stdout: '',
      stderr: `Interrupted: 1 000 records → ${spans} spans; written to ${out}\n`,
    })
  })

  test('writes received input whole on a machine that is busy for longer than the wait for a server', async () => {
    const io = interruptedAtLook(1 + records.length)
    const out = scratch.path('out.jsonl')
    void io
      .interrupted()
      .then(() => setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1100)))
    expect(await replay(['-', '--out', out], endless(asLines(records), io))).toBe(130)
    expect(spansIn(out)).toHaveLength(spans)
  })

  test('reports the position in a file, and draws nothing', async () => {
    const io = interruptedAtLook(300, 'SIGINT', 120)
    const file = scratch.put('in.jsonl', asLines(records))
    expect(await replay([file], io)).toBe(130)
    expect(io.written.stdout).toBe('')
    const [, percent, count] =
      /Interrupted at (\d+) %: (\d+) records → \d+ spans; stored in .*\n$/.exec(io.written.stderr) ?? []
    expect(Number(count)).toBeGreaterThan(290)
    expect(Number(count)).toBeLessThan(900)
    expect(Number(percent)).toBeGreaterThan(25)
    expect(Number(percent)).toBeLessThan(95)
  })

  test("ends a pause if the replay keeps the recording's time", async () => {
    const io = interruptedAtLook(3)
    const [first, second] = records
    const late = { ...second!, at: (first!.at ?? 0) + 30_000 }
    const args = ['-', '--speed', '1', '--out', scratch.path('o')]
    expect(await replay(args, endless(asLines([first!, late]), io))).toBe(130)
    expect(io.written.stderr).toMatch(/^Interrupted: 2 records → /)
  })

  test('is distinguished from a SIGTERM', async () => {
    const io = interruptedAtLook(10, 'SIGTERM')
    expect(await replay(['-', '--out', scratch.path('o')], endless(asLines(records), io))).toBe(143)
  })

  test('counts more than a malformed line', async () => {
    const io = interruptedAtLook(2)
    expect(await replay(['-', '--out', scratch.path('o')], endless(`{"hook"\n${asLines(records)}`, io))).toBe(130)
    expect(io.written.stderr).toMatch(/line 1: not JSON.*\nInterrupted: 1 record → /)
  })
})

describe('Ctrl-C while a backend does not answer', () => {
  test.each([
    ['demo', (io: FakeIo) => demo(['--backend', `jaeger=${sink.url}`], io)],
    ['replay', (io: FakeIo) => replay([scratch.put('in', asLines(records)), '--backend', `jaeger=${sink.url}`], io)],
  ])('ends the wait of %s, and keeps unsent data', async (_name, start) => {
    const io = fakeIo({ home: scratch.home })
    const ended = start(io)
    await sink.until(() => sink.requests.length > 0)
    io.interrupt()
    expect(await ended).toBe(130)
    expect(io.written.stdout).toBe('')
    expect(io.written.stderr).toMatch(
      /jaeger got 0 of ([\d ]+) spans; \1 are pending\nInterrupted.*: [\d ]+ records → \1 spans; stored in .*\n$/,
    )
  })

  test('reports the data that send has sent, and leaves the rest', async () => {
    const gone = await OtlpSink.start()
    const dead = gone.url
    await gone.stop()
    expect(
      await replay(
        [scratch.put('in', asLines(records)), '--backend', `jaeger=${dead}`],
        fakeIo({ home: scratch.home }),
      ),
    ).toBe(1)
    const env = { HOOKSPAN_BACKENDS: `jaeger=${sink.url}` }
    const io = fakeIo({ home: scratch.home, env })
    const ended = send([], io)
    await sink.until(() => sink.requests.length > 0)
    io.interrupt()
    expect(await ended).toBe(130)
    expect(io.written.stdout).toMatch(/^jaeger got 0 spans; [\d.]+ KB are pending\n$/)
    expect(io.written.stderr).toMatch(/hookspan send: interrupted; run the same command again to continue\n$/)
    sink.behaviour = { kind: 'ok' }
    sink.requests.length = 0
    expect(await send([], fakeIo({ home: scratch.home, env }))).toBe(0)
    expect(sink.spanNames).toHaveLength(spans)
  })
})

test('draws nothing of a half-read file in tree', async () => {
  const io = interruptedAtLook(500, 'SIGINT', 120)
  const file = scratch.put('log.jsonl', `${exportLine(...SAMPLE_TURN)}\n`.repeat(1000))
  expect(await tree([file], io)).toBe(130)
  expect(io.written.stdout).toBe('')
  expect(io.written.stderr).toMatch(/^Interrupted at [1-8]\d %; nothing is printed\n$/)
})

test('keeps the exit code of a command that ends before the interruption', async () => {
  const io = fakeIo({ home: scratch.home })
  expect(await replay([scratch.put('in', asLines(records)), '--out', scratch.path('o')], io)).toBe(0)
  io.interrupt()
  expect(io.written.stderr).not.toContain('nterrupted')
})

test('causes no warning of Node with many backends', async () => {
  sink.behaviour = { kind: 'ok' }
  const warnings: string[] = []
  const note = ({ name }: Error): unknown => warnings.push(name)
  process.on('warning', note)
  const backends = Array.from({ length: 12 }, () => ['--backend', `otlp=${sink.url}`]).flat()
  expect(await demo(backends, fakeIo({ home: scratch.home }))).toBe(0)
  await new Promise(resolve => setImmediate(resolve))
  process.off('warning', note)
  expect(warnings).toEqual([])
})

test('ends the process at once the second time', async () => {
  const module = join(REPOSITORY, 'build', 'cli', 'process-io.js')
  const script = `
    import { processIo } from ${JSON.stringify(module)}
    const io = processIo()
    const interrupted = io.interrupted()
    setInterval(() => undefined, 1000)
    console.log('ready')
    console.log(await interrupted)
  `
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
    child.kill('SIGINT')
  })
  const signal = await new Promise(resolve => child.on('close', (_code, by) => resolve(by)))
  expect({ said, signal }).toEqual({ said: 'ready\nSIGINT\n', signal: 'SIGINT' })
})
