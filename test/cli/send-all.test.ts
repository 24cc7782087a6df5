import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { send as sendCommand } from '../../src/cli/commands/send.ts'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { put } from '../plugin/config/scratch-home.ts'
import { OtlpSink } from '../support/otlp-sink.ts'
import { spansOfJson } from '../support/otlp-spans.mjs'
import { fakeIo } from './fake-io.ts'

const { run } = sendCommand

const NOW = Date.parse('2026-11-22T17:00:00Z')
const HOUR = 3_600_000
const quiet = { warn: () => undefined, error: () => undefined, debug: () => undefined }

let home: string
let sink: OtlpSink

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-send-'))
  sink = await OtlpSink.start()
})

afterEach(async () => {
  rmSync(home, { recursive: true, force: true })
  await sink.stop()
})

interface Turn {
  readonly session: string
  /** Default: three hours ago. */
  readonly at?: number
}

const state = (): string => join(home, '.local', 'state', 'hookspan')
const listed = (name: string): string[] => readdirSync(join(state(), name))

function openAgent(set: string | Record<string, string> = {}) {
  const more = typeof set === 'string' ? { HOOKSPAN_BACKENDS: set } : set
  const env = { HOOKSPAN_FORCE_FLUSH_WAIT_MS: '1000', ...more }
  return createPluginIn({ host: 'agent' }, { env, home, isReplay: true, diagnostics: quiet })
}

function tell(plugin: ReturnType<typeof openAgent>, { session, at = NOW - 3 * HOUR }: Turn): void {
  const ids = { session_id: session, turn_id: `turn of ${session}` }
  plugin.emit('pre_llm_call', { ...ids, model: session }, { at })
  plugin.emit('on_session_end', { ...ids, completed: true }, { at: at + 1000 })
}

/** Turns of two spans each, in one file of the log. */
async function record(turns: readonly (string | Turn)[], set?: string | Record<string, string>): Promise<void> {
  const plugin = openAgent(set)
  for (const turn of turns) tell(plugin, typeof turn === 'string' ? { session: turn } : turn)
  await plugin.shutdown()
}

async function send(...args: string[]) {
  const io = fakeIo({ home, now: () => NOW, env: { HOOKSPAN_FORCE_FLUSH_WAIT_MS: '200' } })
  const code = await run(args, io)
  return { code, ...io.written }
}

const toSink = (): string[] => ['--backend', `jaeger=${sink.url}`]
/** The sessions whose turns have come, once for each time. */
const arrived = (): string[] => sink.spanNames.flatMap(name => /^llm\.(.+)/.exec(name)?.[1] ?? []).sort()

describe('send --all', () => {
  test('sends traces from before any backend was configured, once', async () => {
    await record(['a', 'b'])
    await record(['c'])
    const first = await send('--all', ...toSink())
    expect(arrived()).toEqual(['a', 'b', 'c'])
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toContain(
      'jaeger got 3 traces, 6 spans, from 2026-11-22 14:00:00 UTC to 2026-11-22 14:00:01 UTC\n',
    )
    const [file] = listed('traces')
    expect(first.stdout).toContain(`  ${file}: 2 traces, 4 spans, from 2026-11-22 14:00:00 UTC`)
    const second = await send('--all', ...toSink())
    expect(second).toEqual({ code: 0, stdout: 'jaeger has everything already; nothing was sent\n', stderr: '' })
    expect(arrived()).toEqual(['a', 'b', 'c'])
    expect(listed('spool')).toEqual([])
  })

  test('sends later traces alone', async () => {
    await record(['a'])
    await send('--all', ...toSink())
    await record(['b'])
    const { stdout } = await send('--all', ...toSink())
    expect(arrived()).toEqual(['a', 'b'])
    expect(stdout).toMatch(/jaeger got 1 trace, 2 spans, .*\n {2}1 further file already delivered\n$/)
  })

  test('sends nothing again to a backend that got its traces as they were recorded', async () => {
    await record(['a'], `jaeger=${sink.url}`)
    expect(arrived()).toEqual(['a'])
    expect((await send('--all', ...toSink())).stdout).toBe('jaeger has everything already; nothing was sent\n')
    expect(arrived()).toEqual(['a'])
  })

  test('treats another address as another backend', async () => {
    const other = await OtlpSink.start()
    await record(['a'], `jaeger=${sink.url}`)
    await send('--all', '--backend', `jaeger=${other.url}`)
    expect(other.spanNames).toHaveLength(2)
    await other.stop()
  })

  test('does not resend kept traces that went to the corrected address', async () => {
    const wrong = await OtlpSink.start({ kind: 'status', status: 404 })
    await record(['a'], `jaeger=${wrong.url}`)
    await wrong.stop()
    const io = fakeIo({ home, env: { HOOKSPAN_BACKENDS: `jaeger=${sink.url}` }, now: () => NOW })
    expect(await run([], io)).toBe(0)
    expect(arrived()).toEqual(['a'])
    await send('--all', ...toSink())
    expect(arrived()).toEqual(['a'])
  })

  test('continues where it stopped when the backend did not accept everything', async () => {
    await record(['a'])
    await record(['b'])
    await record(['c'])
    sink.behaviour = { kind: 'status', status: 500 }
    const failed = await send('--all', ...toSink())
    expect(failed.code).toBe(1)
    expect(failed.stdout).toContain('jaeger got nothing\n')
    expect(failed.stderr).toMatch(/answered 500/)
    expect(failed.stderr).not.toContain('sent later')
    expect(failed.stdout).toContain('not all of 3 files was sent; run this again to continue')
    expect(listed('spool')).toEqual([])
    sink.requests.splice(0)
    sink.behaviour = { kind: 'ok' }
    expect((await send('--all', ...toSink())).code).toBe(0)
    expect(arrived()).toEqual(['a', 'b', 'c'])
  })

  test('leaves an agent that is running its file', async () => {
    const plugin = openAgent()
    tell(plugin, { session: 'running' })
    await plugin.flush()
    await record(['done'])
    const { code, stdout } = await send('--all', ...toSink())
    expect(arrived()).toEqual(['done'])
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('1 file belongs to a running agent: run this again after it has ended'),
    })
    await plugin.shutdown()
    await send('--all', ...toSink())
    expect(arrived()).toEqual(['done', 'running'])
  })

  test('does not send open spans as ended', async () => {
    const plugin = openAgent()
    tell(plugin, { session: 'ended' })
    plugin.emit('pre_llm_call', { session_id: 'open', turn_id: 'open', model: 'open' }, { at: NOW })
    await plugin.flush()
    const [name = ''] = listed('traces')
    const copy = join(home, 'copy.jsonl')
    writeFileSync(copy, readFileSync(join(state(), 'traces', name)))
    expect(readFileSync(copy, 'utf8')).toContain('hookspan.open')
    await send(copy, ...toSink())
    expect(arrived()).toEqual(['ended'])
    await plugin.shutdown()
  })

  test('reports a missing backend, and suggests one', async () => {
    const { code, stderr } = await send('--all')
    expect(code).toBe(2)
    expect(stderr).toContain('no backend is configured; name one, for example --backend jaeger=http://127.0.0.1:4318')
  })

  test('is no failure for a log without traces', async () => {
    const { code, stdout } = await send('--all', ...toSink())
    expect({ code, stdout }).toEqual({ code: 0, stdout: `there are no traces in ${join(state(), 'traces')}\n` })
  })

  test('fails and reports a backend that is not set up', async () => {
    await record(['a'])
    const { code, stderr } = await send('--all', '--backend', 'langfuse')
    expect(code).toBe(1)
    expect(stderr).toMatch(/backend langfuse is off: /)
  })

  test('stores its state privately', async () => {
    await record(['a'])
    await send('--all', ...toSink())
    const [name = ''] = listed('sent')
    const path = join(state(), 'sent', name)
    expect([statSync(path).mode & 0o777, statSync(join(state(), 'sent')).mode & 0o777]).toEqual([0o600, 0o700])
    expect(readFileSync(path, 'utf8')).not.toContain(new URL(sink.url).port)
  })
})

describe('send --since', () => {
  const turns = [
    { session: 'old', at: NOW - 5 * HOUR },
    { session: 'new', at: NOW - HOUR },
  ]

  test('sends only traces that began since then, and --all the others later', async () => {
    await record(turns)
    expect((await send('--since', '2h', ...toSink())).code).toBe(0)
    expect(arrived()).toEqual(['new'])
    expect((await send('--since', '2h', ...toSink())).stdout).toBe('jaeger has everything already; nothing was sent\n')
    await send('--since', '2026-11-22T11:30', ...toSink())
    expect(arrived()).toEqual(['new', 'old'])
    await send('--all', ...toSink())
    expect(arrived()).toEqual(['new', 'old'])
  })

  test('reports it when none did', async () => {
    await record(turns)
    const { code, stdout } = await send('--since', '10m', ...toSink())
    expect({ code, spans: sink.spanNames }).toEqual({ code: 0, spans: [] })
    expect(stdout).toBe(`nothing in ${join(state(), 'traces')} is to be sent to jaeger\n`)
  })

  test('dates a trace by its first span, in whichever file', async () => {
    await record([{ session: 'begin', at: NOW - 5 * HOUR }])
    await record([{ session: 'end', at: NOW - HOUR }])
    const [first = '', second = ''] = listed('traces').map(name => join(state(), 'traces', name))
    const idOf = (path: string): string => /"traceId":"(\w+)"/.exec(readFileSync(path, 'utf8'))?.[1] ?? ''
    writeFileSync(second, readFileSync(second, 'utf8').replaceAll(idOf(second), idOf(first)))
    await send('--since', '2h', ...toSink())
    expect(arrived()).toEqual([])
    await send('--since', '6h', ...toSink())
    expect(arrived()).toEqual(['begin', 'end'])
  })
})

describe('send FILE', () => {
  test("sends the file's traces as often as it is run, with the ids of the file", async () => {
    await record(['a', 'b'])
    const [name = ''] = listed('traces')
    const file = join(home, 'elsewhere.jsonl')
    writeFileSync(file, readFileSync(join(state(), 'traces', name)))
    const { code, stdout } = await send(file, ...toSink())
    expect(code).toBe(0)
    expect(stdout).toMatch(/^jaeger got 2 traces, 4 spans, from .*\n {2}elsewhere\.jsonl: 2 traces, 4 spans, .*\n$/)
    await send(file, ...toSink())
    expect(arrived()).toEqual(['a', 'a', 'b', 'b'])
    const spanIds = sink.requests.map(({ records }) => records.map(({ spanId }) => spanId))
    expect(spanIds[1]).toEqual(spanIds[0])
    expect(readdirSync(state())).not.toContain('sent')
  })

  test('sends only newer traces with --since, and treats a directory as its files', async () => {
    await record([
      { session: 'old', at: NOW - 5 * HOUR },
      { session: 'new', at: NOW - HOUR },
    ])
    await send(join(state(), 'traces'), '--since', '2h', ...toSink())
    expect(arrived()).toEqual(['new'])
  })

  test.each([
    ['nothing.jsonl', undefined, /there is no file .*nothing\.jsonl\n$/],
    [
      'records.jsonl',
      '{"hook":"pre_llm_call","payload":{}}\n',
      /no traces in .*: these are hook records: hookspan replay/,
    ],
    ['empty.jsonl', '', /it is empty/],
  ])('rejects %s before sending anything', async (name, text, message) => {
    const path = join(home, name)
    if (text !== undefined) writeFileSync(path, text)
    const { code, stderr } = await send(path, ...toSink())
    expect(code).toBe(1)
    expect(stderr).toMatch(message)
    expect(sink.requests).toEqual([])
  })

  test('fails when it does not arrive', async () => {
    await record(['a'])
    sink.behaviour = { kind: 'status', status: 500 }
    const { code, stdout } = await send(join(state(), 'traces'), ...toSink())
    expect(code).toBe(1)
    expect(stdout).toContain('not all of 1 file was sent; run this again to send all of them')
  })
})

const LET_GO = (files: number): string =>
  `of ${files === 1 ? '1 file' : `${files} files`} it receives the selected traces; "keep" did not select the others: hookspan send TRACE_ID sends one`

describe('send TRACE_ID', () => {
  /** What a backend has got of the turns that it was not to get. */
  const held = (): Record<string, string> => ({
    HOOKSPAN_BACKENDS: `jaeger=${sink.url}`,
    HOOKSPAN_KEEP: 'true',
  })
  const traceIdOf = (session: string): string => {
    const text = listed('traces').reduce((all, name) => all + readFileSync(join(state(), 'traces', name), 'utf8'), '')
    const line = text.split('\n').find(line => line.startsWith('{"resourceSpans"') && line.includes(`llm.${session}`))
    const span = spansOfJson(JSON.parse(line ?? '{}')).find(({ name }) => name === `llm.${session}`)
    return span?.traceId ?? ''
  }

  test('sends a dropped trace, and nothing else, as often as it is run', async () => {
    await record(['a', 'b'], held())
    expect(arrived()).toEqual([])
    const all = await send('--all', ...toSink())
    expect({ code: all.code, stdout: all.stdout }).toEqual({
      code: 0,
      stdout: `jaeger has all selected traces; nothing was sent\n  ${LET_GO(1)}\n`,
    })
    expect(arrived()).toEqual([])
    const { code, stdout, stderr } = await send(traceIdOf('b').slice(0, 12), ...toSink())
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^jaeger got 1 trace, 2 spans, from 2026-11-22 14:00:00 UTC .*\n/)
    expect(arrived()).toEqual(['b'])
    await send(traceIdOf('b'), ...toSink())
    expect(arrived()).toEqual(['b', 'b'])
    expect(listed('spool')).toEqual([])
  })

  test('lists the candidates if it names none', async () => {
    await record(['a'], held())
    const { code, stderr } = await send('0000', ...toSink())
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `hookspan send: there is no trace whose id starts with 0000 among the 1 in ${join(state(), 'traces')}, and no file of that name; for a session: hookspan tree --session 0000\n`,
    })
  })

  test('distinguishes traces recorded without "keep" from dropped ones', async () => {
    await record(['a'])
    await record(['b'], `jaeger=${sink.url}`)
    await record(['c'], held())
    const { stdout } = await send('--all', ...toSink())
    expect(arrived()).toEqual(['a', 'b'])
    expect(stdout).toMatch(/^jaeger got 1 trace, 2 spans, .*\n {2}1 further file already delivered\n/)
    expect(stdout).toContain(`  ${LET_GO(1)}\n`)
    expect((await send('--all', ...toSink())).stdout).toBe(
      `jaeger has everything except traces that "keep" did not select; nothing was sent\n  ${LET_GO(1)}\n`,
    )
  })

  test('does not report an undelivered kept trace as sent', async () => {
    sink.behaviour = { kind: 'status', status: 404 }
    put(home, '.config/hookspan/config.yaml', 'keep: { rate: 1 }\n')
    await record(['a'], `jaeger=${sink.url}`)
    const { code, stdout } = await send('--all', ...toSink())
    expect(code).toBe(1)
    expect(stdout).toMatch(/^jaeger got nothing\n {2}[\d.]+ KB of selected traces are pending: run hookspan send\n/)
  })

  test("does not report a killed process's undecided traces as sent", async () => {
    await record(['a'], held())
    const [name = ''] = listed('traces')
    put(state(), `spool/${name.replace('.jsonl', '.free.json')}`, '{"open":true,"delivered":{}}')
    const { code, stdout } = await send('--all', ...toSink())
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout:
        'jaeger got nothing\n  tail sampling is pending for 1 file of ended agents: run hookspan send with the same backends; hookspan send TRACE_ID sends one\n',
    })
    const io = fakeIo({ home, now: () => NOW, env: held() })
    expect(await run([], io)).toBe(0)
    expect({ arrived: arrived(), spool: listed('spool') }).toEqual({ arrived: [], spool: [] })
  })

  test('sends a whole log of them to a backend that was never configured', async () => {
    await record(['a', 'b'], held())
    await send('--all', '--backend', `otlp=${sink.url}`)
    expect(arrived()).toEqual(['a', 'b'])
  })
})

test('ends at Ctrl-C, remembers the delivered part, and leaves no files behind', async () => {
  await record(['a'])
  await record(['b'])
  sink.behaviour = { kind: 'hanging' }
  const io = fakeIo({ home, now: () => NOW, env: { HOOKSPAN_FORCE_FLUSH_WAIT_MS: '50' } })
  const running = run(['--all', ...toSink()], io)
  await sink.until(() => sink.requests.length > 0)
  io.interrupt()
  expect(await running).toBe(130)
  expect(io.written.stdout).toContain('not all of 2 files was sent')
  expect(listed('spool')).toEqual([])
  sink.requests.splice(0)
  sink.behaviour = { kind: 'ok' }
  await send('--all', ...toSink())
  expect(arrived()).toEqual(['a', 'b'])
})
