import { getEventListeners } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { HeadersCommand } from '../../../src/delivery/pipeline/headers-command.ts'
import { afterwards } from '../../support/afterwards.ts'
import {
  backend,
  countPoint,
  Lines,
  openPipeline,
  recordSpans,
  scratchDirectory,
  startSink,
} from './pipeline-fixture.ts'

const NEVER = new AbortController().signal

/** A program that counts its runs in a file, and prints the text, in which RUN is the count. */
class Helper {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async create(text: string): Promise<Helper> {
    const helper = new Helper(await scratchDirectory())
    await writeFile(helper.#path('text'), text)
    await writeFile(helper.#path('runs'), '')
    return helper
  }

  get command(): readonly string[] {
    const program = 'printf x >> "$2"; sed "s/RUN/$(wc -c < "$2")/" "$1"'
    return ['sh', '-c', program, 'sh', this.#path('text'), this.#path('runs')]
  }

  async runs(): Promise<number> {
    return (await readFile(this.#path('runs'), 'utf8')).length
  }

  #path(name: string): string {
    return join(this.#folder, name)
  }
}

test('sends the printed headers, which override others, and runs once for all signals', async () => {
  const helper = await Helper.create('{"X-Key": " secret-RUN ", "Content-Type": "text/plain"}')
  const sink = await startSink()
  const pipeline = openPipeline({
    backends: [
      backend('otlp', sink.url, { headers: { 'x-key': 'old', 'x-more': 'too' }, headers_command: helper.command }),
    ],
  })
  for (const name of ['one', 'two']) {
    recordSpans(pipeline, name)
    countPoint(pipeline, 'points')
    await pipeline.flush()
  }
  expect(sink.spanNames).toEqual(['one', 'two'])
  expect(sink.metricNames.length).toBeGreaterThan(0)
  for (const { headers } of sink.requests) {
    expect(headers).toMatchObject({ 'x-key': 'secret-1', 'x-more': 'too' })
    expect(headers['content-type']).toMatch(/^application\//)
  }
  expect(await helper.runs()).toBe(1)
})

test('leaves no listener on the signal, which may be one for the life of the process', async () => {
  const { signal } = new AbortController()
  const command = new HeadersCommand([process.execPath, '-e', 'process.exit(3)'])
  await command.read(60_000, signal)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('sends a printed token as Bearer', async () => {
  const sink = await startSink()
  const { command } = await Helper.create('ya29.token\n')
  const pipeline = openPipeline({ backends: [backend('otlp', sink.url, { headers_command: command })] })
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  expect(sink.requests[0]?.headers).toMatchObject({ authorization: 'Bearer ya29.token' })
})

test.each([401, 403])('runs again after %d, and delivers the same spans without a message', async status => {
  const helper = await Helper.create('token-RUN')
  const sink = await startSink({ kind: 'status', status })
  const lines = new Lines()
  const pipeline = openPipeline(
    { backends: [backend('otlp', sink.url, { metrics: false, headers_command: helper.command })] },
    lines,
  )
  recordSpans(pipeline, 'one')
  const flushed = pipeline.flush()
  await vi.waitFor(() => expect(sink.requests).toHaveLength(1), { interval: 1, timeout: 10_000 })
  sink.behaviour = { kind: 'ok' }
  await flushed
  expect(sink.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2'])
  expect(pipeline.stats().backends).toMatchObject([{ delivered: 1, dropped: 0, queued: 0 }])
  expect(lines.said).toEqual([])
})

test('runs twice at most for one request that the backend refuses', async () => {
  const helper = await Helper.create('token-RUN')
  const sink = await startSink({ kind: 'status', status: 401 })
  const lines = new Lines()
  const pipeline = openPipeline(
    { backends: [backend('otlp', sink.url, { metrics: false, headers_command: helper.command })] },
    lines,
  )
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  expect(sink.requests).toHaveLength(2)
  expect(lines.said).toEqual([
    `backend otlp: ${sink.url}/v1/traces answered 401: it refuses the credentials. Set headers_command to a program that prints valid ones`,
  ])
})

test('reports a failing program in one line, keeps the spans, and sends them once it works', async () => {
  const path = join(await scratchDirectory(), 'helper.cjs')
  await writeFile(path, 'console.log("secret"); console.error("secret"); process.exit(3)')
  const sink = await startSink()
  const lines = new Lines()
  const pipeline = openPipeline(
    {
      backends: [backend('otlp', sink.url, { metrics: false, headers_command: [process.execPath, path] })],
      localLog: { directory: await scratchDirectory(), maxBytes: 1 << 30, maxAgeHours: 1e6, flushMillis: 100 },
    },
    lines,
  )
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  expect(sink.requests).toEqual([])
  expect(lines.said).toEqual([
    expect.stringMatching(
      /^backend otlp: headers_command ended with code 3\. Run it by hand; until it works, its traces are kept in the trace log, and sent later$/,
    ),
  ])
  expect(pipeline.stats().backends).toMatchObject([{}, { delivered: 0, dropped: 0, queued: 1 }])
  await writeFile(path, 'console.log("token")')
  await vi.waitFor(
    async () => {
      await pipeline.flush()
      expect(sink.spanNames).toEqual(['one'])
    },
    { timeout: 10_000, interval: 200 },
  )
  expect(pipeline.stats().backends).toMatchObject([{}, { delivered: 1, dropped: 0, queued: 0 }])
})

test.each([
  ['nothing', ''],
  ['text', 'not a token'],
  ['a list', '["a"]'],
  ['an empty object', '{}'],
  ['a number', '{"a": 1}'],
  ['half an object', '{"a": "secret'],
])('refuses a program that prints %s, without its output', async (_, text) => {
  const { command } = await Helper.create(text)
  expect(await new HeadersCommand(command).read(10_000, NEVER)).toEqual({
    ok: false,
    failure: { kind: 'command', reason: 'printed neither a token nor a JSON object of headers' },
  })
})

test('reports a program that does not exist', async () => {
  const read = await new HeadersCommand(['hookspan-no-such-program']).read(10_000, NEVER)
  expect(read).toEqual({ ok: false, failure: { kind: 'command', reason: 'cannot run (ENOENT)' } })
})

test('uses no shell', async () => {
  const file = join(await scratchDirectory(), 'made')
  const program = 'process.stdout.write(process.argv[1])'
  const read = await new HeadersCommand([process.execPath, '-e', program, `$(touch\t${file})`]).read(10_000, NEVER)
  expect([read.ok, existsSync(file)]).toEqual([false, false])
})

test('waits for a hanging program no longer than the request may take, and ends it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  afterwards(() => vi.useRealTimers())
  const path = join(await scratchDirectory(), 'pid')
  const program = `require('node:fs').writeFileSync(${JSON.stringify(path)}, String(process.pid)); setInterval(() => {}, 1000)`
  const command = new HeadersCommand([process.execPath, '-e', program])
  const abort = new AbortController()
  const reads = [command.read(100, NEVER), command.read(1000, abort.signal)]
  await vi.waitFor(async () => expect(await readFile(path, 'utf8')).not.toBe(''), { timeout: 10_000 })
  await vi.advanceTimersByTimeAsync(100)
  abort.abort()
  for (const read of await Promise.all(reads)) {
    expect(read).toEqual({ ok: false, failure: { kind: 'command', reason: 'took too long' } })
  }
  await vi.advanceTimersByTimeAsync(10_000)
  const pid = Number(await readFile(path, 'utf8'))
  vi.useRealTimers()
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), { timeout: 10_000 })
})
