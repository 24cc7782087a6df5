import { readFileSync, writeFileSync } from 'node:fs'
import { Server, Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { buildForest } from '../../src/reading/trace-forest.ts'
import { outline } from '../../src/reading/tree-outline.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { feed, recording } from '../support/feed.ts'
import { OtlpSink } from '../support/otlp-sink.ts'
import { times } from '../support/sample.ts'
import { asLines, generatedRecords } from './generated-records.ts'
import { fixture } from './program.ts'
import { linesOf, ScratchReplay, spansIn } from './scratch-replay.ts'

let scratch: ScratchReplay
beforeEach(() => {
  scratch = new ScratchReplay()
})
afterEach(() => {
  vi.restoreAllMocks()
  scratch.remove()
})

const TURN = fixture('hermes-turn.jsonl')
const SESSION = fixture('demo-session.jsonl')

const DRAWN = `\
● hermes-agent · 20261121_101500_7c41de · turn 1                                                 2026-11-21 10:15:00 UTC
  completed · 14.2 s · 5 230 → 302 tokens · $0.0055 for 1 of 3 requests · 13 spans · 1 error · qwen3-coder-30b  a78049a1

  agent  We are releasing tides 1.2 today.…   ────────────────────────  14.2 s  4 150 → 206           completed
  └─ llm.qwen3-coder-30b                      ────────────────────────  14.1 s
     ├─ api.qwen3-coder-30b  Error code: 42…  ━                         360 ms                        429 RateLimitError
     ├─ api.qwen3-coder-30b  attempt 2  1 2…      ━━━╸                   1.9 s  1 840 → 148           tool_calls
     │  ├─ tool.terminal  rm -rf ./build             ━━━━━━━━━━╸         5.7 s                        completed
     │  │  └─ approval.rm_rf  rm -rf ./build         ╍╍╍╍╍╍╍╍╍╍          5.5 s                        once
     │  ├─ tool.read_file  README.md                 ╸                   50 ms                        completed
     │  └─ tool.delegate_task  {"tasks":[{"…                   ━━━━━     2.6 s                        completed
     │     └─ subagent.leaf  Write the rele…                   ─────     2.5 s                        completed
     │        └─ agent  Write the release n…                   ────╴     2.4 s  1 080 → 96            completed
     │           └─ llm.claude-sonnet-4-6                      ────╴     2.4 s
     │              └─ api.claude-sonnet-4-6                   ━━━━╸     2.3 s  1 080 → 96   $0.0055  stop
     └─ api.qwen3-coder-30b  1 840 cached                          ╺━━   1.3 s  2 310 → 58            stop

`

describe('without --out', () => {
  test('draws the trace, and names the file', async () => {
    const { code, stdout, stderr } = await scratch.replay([TURN])
    expect(code).toBe(0)
    expect(stdout).toBe(DRAWN)
    const [, file = ''] = /^28 records → 13 spans; stored in (.+)\n$/.exec(stderr) ?? []
    expect(file.startsWith(scratch.stateDirectory)).toBe(true)
    expect(spansIn(file)).toHaveLength(13)
  })

  test('draws the last of very many traces', async () => {
    const file = scratch.put('many.jsonl', asLines(generatedRecords(300).records))
    const { stdout } = await scratch.replay([file])
    expect(stdout.match(/^● /gm)).toHaveLength(20)
    expect(stdout).toContain('\n  the last 20 of 30 traces\n')
  })

  test('creates the same trace twice', async () => {
    const files = await Promise.all(
      [1, 2].map(async () => /stored in (.+)\n/.exec((await scratch.replay([TURN])).stderr)?.[1] ?? ''),
    )
    const [first, second] = files.map(file => spansIn(file).map(({ traceId, spanId }) => `${traceId} ${spanId}`))
    expect(files[0]).not.toBe(files[1])
    expect(first).toEqual(second)
  })

  test('draws also where nothing may be stored', async () => {
    const { code, stdout, stderr } = await scratch.replay([TURN], { env: { HOOKSPAN_LOCAL_LOG: 'false' } })
    expect({ code, stdout }).toEqual({ code: 0, stdout: DRAWN })
    expect(stderr).toBe('28 records → 13 spans; not stored, because local_log is off\n')
    expect(scratch.wroteState()).toBe(false)
  })

  test('draws also where nothing can be stored, and fails', async () => {
    writeFileSync(scratch.path('.local'), 'a file where the directory should be')
    const { code, stdout, stderr } = await scratch.replay([TURN])
    expect({ code, stdout }).toEqual({ code: 1, stdout: DRAWN })
    expect(stderr).toBe(
      `28 records → 13 spans; not stored, because ${scratch.stateDirectory}/traces cannot be written: a part of the path is not a directory\n`,
    )
  })

  test('replays all of it, whatever the agent is configured to record', async () => {
    const env = { HOOKSPAN_ENABLED: 'false', HOOKSPAN_SAMPLE_RATE: '0', OTEL_SDK_DISABLED: 'true' }
    expect(await scratch.replay([TURN], { env })).toMatchObject({ code: 0, stdout: DRAWN })
  })
})

interface ExportedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
}

interface ExportRequest {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[] }[]
}

describe('--out', () => {
  test('writes the spans that a live plugin makes of the same records', async () => {
    const live = createTestPlugin({ host: 'hermes' })
    feed(live, recording('hermes-turn.jsonl'))
    const replayed = buildForest(await scratch.spansOf([TURN])).map(tree => outline(tree))
    expect(replayed.join('\n\n')).toBe(live.tree())
  })

  test('is one valid ExportTraceServiceRequest a line', async () => {
    const out = scratch.path('o.jsonl')
    const file = scratch.put('many.jsonl', asLines(generatedRecords(1000).records))
    expect((await scratch.replay([file, '--out', out])).code).toBe(0)
    const spans = linesOf(out).flatMap(line => {
      const request = JSON.parse(line) as ExportRequest
      expect(Object.keys(request)).toEqual(['resourceSpans'])
      return request.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(scope => scope.spans))
    })
    expect(spans).toHaveLength(500)
    for (const span of spans) {
      expect(span.traceId).toMatch(/^[0-9a-f]{32}$/)
      expect(span.spanId).toMatch(/^[0-9a-f]{16}$/)
      expect([1, 3]).toContain(span.kind)
      expect(span.startTimeUnixNano).toMatch(/^\d{19}$/)
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano))
    }
    const ids = new Set(spans.map(span => span.spanId))
    expect(ids.size).toBe(spans.length)
    for (const { parentSpanId } of spans) if (parentSpanId !== undefined) expect(ids).toContain(parentSpanId)
  })

  test('is byte-identical each time, however the input comes in pieces', async () => {
    const records = times(1000, 5000)
    const text = asLines(generatedRecords(records).records)
    const file = scratch.put('in.jsonl', text)
    const pieces = Array.from({ length: Math.ceil(text.length / 7777) }, (_, n) => text.slice(n * 7777, (n + 1) * 7777))
    const runs: [string[], Iterable<string>][] = [
      [[file], []],
      [[file], []],
      [['-'], [text]],
      [['-'], pieces],
    ]
    const written: string[] = []
    for (const [files, stdin] of runs) {
      const out = scratch.path(`${written.length}.jsonl`)
      expect((await scratch.replay([...files, '--out', out], { stdin })).code).toBe(0)
      written.push(readFileSync(out, 'utf8'))
    }
    expect(spansIn(scratch.path('0.jsonl'))).toHaveLength(records / 2)
    for (const other of written.slice(1)) expect(other === written[0]).toBe(true)
  })

  test('depends on the file, not on the environment', async () => {
    const bare = await scratch.spansOf([TURN])
    const env = { TRACEPARENT: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', HOOKSPAN_SAMPLE_RATE: '0' }
    expect(await scratch.spansOf([TURN], { env })).toEqual(bare)
  })

  test('writes nothing else and opens no socket, whatever is configured', async () => {
    const sink = await OtlpSink.start()
    const [connect, listen] = [vi.spyOn(Socket.prototype, 'connect'), vi.spyOn(Server.prototype, 'listen')]
    const env = {
      HOOKSPAN_BACKENDS: `jaeger=${sink.url}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
      HOOKSPAN_PROMETHEUS: 'true',
      HOOKSPAN_DEBUG: 'true',
    }
    expect(await scratch.spansOf([TURN], { env })).toHaveLength(13)
    expect(connect).not.toHaveBeenCalled()
    expect(listen).not.toHaveBeenCalled()
    expect(scratch.wroteState()).toBe(false)
    await sink.stop()
  })

  test('replaces the previous content, and reports it', async () => {
    const out = scratch.put('o.jsonl', 'old\n')
    const { stdout, stderr } = await scratch.replay([TURN, '--out', out])
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: `28 records → 13 spans; written to ${out}\n` })
    expect(spansIn(out)).toHaveLength(13)
  })

  test('accepts several files in one go', async () => {
    const spans = await scratch.spansOf([TURN, SESSION])
    expect(spans).toHaveLength(13 + 28)
    expect(new Set(spans.map(span => span.attributes['hermes.host']))).toEqual(new Set(['hermes', 'demo', undefined]))
  })

  test('reports a file that cannot be written in one line', async () => {
    const out = scratch.path('missing/o.jsonl')
    expect(await scratch.replay([TURN, '--out', out])).toEqual({
      code: 1,
      stdout: '',
      stderr: `hookspan replay: cannot write ${out}: there is no such file or directory\n`,
    })
  })

  test('writes the metrics to --metrics-out once', async () => {
    const [out, metricsOut] = [scratch.path('o.jsonl'), scratch.path('m.jsonl')]
    expect((await scratch.replay([TURN, '--out', out, '--metrics-out', metricsOut])).code).toBe(0)
    const [line = '', ...more] = linesOf(metricsOut)
    expect(more).toEqual([])
    const metrics = JSON.parse(line).resourceMetrics[0].scopeMetrics[0].metrics
    const input = metrics.find(({ name }: { name: string }) => name === 'hermes.tokens.input')
    const sum = input.sum.dataPoints.reduce((total: number, { asDouble }: { asDouble: number }) => total + asDouble, 0)
    expect(sum).toBe(4150 + 1080)
  })
})

test('assigns records without a host to --host', async () => {
  const [record] = generatedRecords(10).records
  const file = scratch.put('h.jsonl', asLines([{ ...record, host: 'pi' }, ...generatedRecords(10).records.slice(1)]))
  const spans = await scratch.spansOf([file, '--host', 'opencode'])
  expect(new Set(spans.map(span => span.attributes['hermes.host']).filter(Boolean))).toEqual(
    new Set(['pi', 'opencode']),
  )
})

describe('wrong usage', () => {
  test.each<[string[], string]>([
    [[], 'expected a FILE of hook records, or - for standard input'],
    [['x', '--bogus'], 'unknown option --bogus'],
    [['x', '--out'], '--out takes a value: --out FILE'],
    [['x', '--out', ''], '--out takes a path'],
    [['x', '--metrics-out', 'y'], '--metrics-out goes with --out'],
    [['x', '--out', 'y', '--metrics-out', 'y'], '--out and --metrics-out are the same file'],
    [['x', '--out', 'y', '--backend', 'jaeger'], '--out sends nothing, so it cannot be combined with --backend'],
    [['x', '--speed', 'fast'], '--speed takes a number above 0, got "fast"'],
    [['x', '--speed', '0'], '--speed takes a number above 0, got "0"'],
    [['x', '--speed', 'Infinity'], '--speed takes a number above 0, got "Infinity"'],
    [['x', '--backend', 'jeager'], '--backend does not know the type "jeager"; did you mean jaeger?'],
    [['x', '--backend', 'jaeger=localhost'], '--backend jaeger: expected an http:// or https:// URL, got other text'],
    [['x', '--backend', 'file'], '--backend file takes a path: file=PATH'],
  ])('includes %j', async (args, message) => {
    const { code, stdout, stderr } = await scratch.replay(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.split('\n')[0]).toBe(`hookspan replay: ${message}`)
    expect(scratch.wroteState()).toBe(false)
  })

  test('lists all types for a backend of an unknown one', async () => {
    const { stderr } = await scratch.replay(['x', '--backend', 'nosuchthing'])
    expect(stderr).toContain('does not know the type "nosuchthing"; types: otlp, jaeger, tempo, phoenix, langfuse')
  })

  test('includes its own output as input', async () => {
    const file = scratch.put('in.jsonl', readFileSync(TURN))
    const { code, stderr } = await scratch.replay([file, '--out', file])
    expect(code).toBe(2)
    expect(stderr).toContain(`--out would overwrite ${file}, which is to be read`)
    expect(readFileSync(file)).toEqual(readFileSync(TURN))
  })
})

test('explains its use with --help', async () => {
  const { code, stdout, stderr } = await scratch.replay(['--help'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  for (const option of ['--out', '--metrics-out', '--backend', '--host', '--speed'])
    expect(stdout).toContain(`${option} `)
})

describe('unread fields', () => {
  const SLIPS = asLines([
    { hook: 'on_session_start', payload: { session_id: 's1' } },
    { hook: 'pre_tool_cal', payload: { session_id: 's1' } },
    { hook: 'pre_tool_call', payload: { session_id: 's1', tool_nam: 'ls', tool_call_id: 'c1' } },
    { hook: 'post_tool_call', payload: { session_id: 's1', tool_name: 'ls', tool_call_id: 'c1', duration_ms: [] } },
  ])

  test('is reported, counted, and with --strict a failure', async () => {
    const file = scratch.put('slips.jsonl', SLIPS)
    const lax = await scratch.replay([file])
    expect(lax.code).toBe(0)
    expect(lax.stderr).toContain('4 records (1 ignored, not read: 2 with unknown names, 1 with wrong types) → ')
    expect(lax.stderr).toContain(
      'hookspan: there is no hook pre_tool_cal, so it is ignored; did you mean pre_tool_call?\n',
    )
    expect((await scratch.replay([file, '--strict'])).code).toBe(1)
    expect((await scratch.replay([file, '--strict', '--out', scratch.path('o.jsonl')])).code).toBe(1)
  })

  test('has none, and --strict succeeds', async () => {
    expect((await scratch.replay([TURN, '--strict'])).code).toBe(0)
  })
})
