import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { demo as demoCommand } from '../../src/cli/commands/demo.ts'
import { criticalPath, pathSums } from '../../src/reading/critical-path.ts'
import { displayWidth } from '../../src/reading/display-width.ts'
import { humanDuration } from '../../src/reading/human-figures.ts'
import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import { outline } from '../../src/reading/tree-outline.ts'
import type { StoredSpan } from '../../src/testing.ts'
import { OtlpSink } from '../support/otlp-sink.ts'
import { text } from '../traces/scenes.ts'
import { type FakeProcess, fakeIo } from './fake-io.ts'
import { spansIn } from './scratch-replay.ts'

const { run } = demoCommand

let home = ''
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-demo-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

interface Shown {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function demo(args: string[] = [], given: FakeProcess = {}): Promise<Shown> {
  const io = fakeIo({ home, ...given })
  return { code: await run(args, io), ...io.written }
}

const STATE = join('.local', 'state', 'hookspan')

function storedFiles(): string[] {
  const directory = join(home, STATE, 'traces')
  return existsSync(directory) ? readdirSync(directory).map(name => join(directory, name)) : []
}

function storedSpans(): StoredSpan[] {
  return storedFiles().flatMap(spansIn)
}

const TREES = text`
  agent OK
    llm.qwen3-coder-30b OK
      api.qwen3-coder-30b ERROR RateLimitError
      api.qwen3-coder-30b OK
        tool.terminal OK
          approval.rm_rf OK
        tool.read_file OK
        tool.delegate_task OK
          subagent.leaf OK
            agent OK
              llm.claude-sonnet-4-6 OK
                api.claude-sonnet-4-6 OK
      api.qwen3-coder-30b OK

  agent OK
    llm.claude-sonnet-4-6 OK
      api.claude-sonnet-4-6 OK
        tool.read_file OK
        tool.grep OK
        tool.terminal ERROR tool_error
      api.claude-sonnet-4-6 OK

  agent OK
    llm.claude-sonnet-4-6 OK
      api.claude-sonnet-4-6 OK
        tool.skill_view OK
        tool.edit_file OK
        tool.terminal OK
          approval.rm_rf OK
        tool.delegate_task OK
          subagent.reviewer OK
            agent OK
              llm.claude-haiku-4-5 OK
                api.claude-haiku-4-5 OK
                  tool.read_file OK
                api.claude-haiku-4-5 OK
      api.claude-sonnet-4-6 OK
    skill.bug-fix OK

  agent OK
    llm.claude-sonnet-4-6 OK
      api.claude-sonnet-4-6 ERROR OverloadedError
      api.claude-sonnet-4-6 OK
    aux.title OK
`

describe('hookspan demo', () => {
  test('stores the traces of both recordings, privately', async () => {
    expect((await demo()).code).toBe(0)
    const [file = '', ...others] = storedFiles()
    expect(others).toEqual([])
    expect(
      buildForest(spansIn(file))
        .map(tree => outline(tree))
        .join('\n\n'),
    ).toBe(TREES)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    for (const path of [STATE, join(STATE, 'traces')]) expect(statSync(join(home, path)).mode & 0o777).toBe(0o700)
  })

  test('draws them, each under its own agent, and adds them up', async () => {
    const { stdout, stderr } = await demo()
    expect(stderr).toBe('')
    const heads = [...stdout.matchAll(/^● (.*) {2,}(.*) UTC$/gm)].map(([, title = '', at]) => `${title.trim()}, ${at}`)
    expect(heads).toEqual([
      'hermes-agent · 20261121_101500_7c41de · turn 1, 2026-11-21 09:58:21',
      'demo · s-7f3a · turn 1, 2026-11-21 10:13:21',
      'demo · s-7f3a · turn 2, 2026-11-21 10:14:02',
      'demo · s-7f3a · turn 3, 2026-11-21 10:14:56',
    ])
    expect(stdout).toContain('\n  4 traces · 44.7 s · 52 026 → 1 502 tokens · $0.0699 · 41 spans · ')
  })

  test('has the denied approval on the critical path of its second turn, and not the reviewer in the background', async () => {
    await demo()
    const path = criticalPath(buildForest(storedSpans())[2] as TraceTree)
    const long = path.filter(({ startAt, endAt }) => endAt - startAt >= 500)
    expect(long.map(({ span }) => span.name)).toEqual([
      'api.claude-sonnet-4-6',
      'approval.rm_rf',
      'api.claude-sonnet-4-6',
    ])
    const { you = 0, untraced } = Object.fromEntries(pathSums(path))
    expect(humanDuration(you)).toBe('12.2 s')
    expect(untraced).toBeLessThan(500)
  })

  test('reports in one line each their place and the next step', async () => {
    const { stdout } = await demo()
    expect(stdout.split('\n').slice(-8)).toEqual([
      `Stored in ${storedFiles()[0]}; nothing has left this machine.`,
      '',
      '  print them again       npx hookspan tree',
      `  show the last one      npx hookspan tree ${storedSpans().at(-1)?.traceId.slice(0, 8)}`,
      '  open the dashboard     npx hookspan view --open',
      '  open them in Jaeger    docker compose --profile jaeger up -d && npx hookspan demo --backend jaeger    → http://127.0.0.1:16686',
      '  open them in Phoenix   docker compose --profile phoenix up -d && npx hookspan demo --backend phoenix  → http://127.0.0.1:6006',
      '',
    ])
  })

  test('does not suggest a step that has just been done', async () => {
    const sink = await OtlpSink.start()
    const args = ['--backend', `jaeger=${sink.url}`]
    const { code, stdout } = await demo(args)
    await sink.stop()
    expect(code).toBe(0)
    expect(stdout).toContain('npx hookspan demo --backend phoenix')
    expect(stdout).not.toContain('--backend jaeger')
    // A server that did not answer has still to be started.
    expect((await demo(args)).stdout).toContain('--backend jaeger')
  })

  test('has just happened, with all its times, and is another trace each time', async () => {
    const now = fakeIo().now()
    await demo()
    const first = storedSpans()
    await demo()
    // Its last record ends no span.
    expect(Math.max(...first.map(span => span.endAt))).toBe(now - 320)
    for (const span of first) expect(span.startAt).toBeGreaterThan(now - 3_600_000)
    expect(new Set(storedSpans().map(span => span.traceId)).size).toBe(8)
  })
})

describe('--backend', () => {
  test('gets all spans, and the last trace can be opened', async () => {
    const sink = await OtlpSink.start()
    const { code, stdout, stderr } = await demo(['--backend', `phoenix=${sink.url}`])
    expect(code).toBe(0)
    expect(sink.spanNames).toHaveLength(41)
    expect(stderr).toMatch(
      new RegExp(`^phoenix got 41 spans; the last trace: ${sink.url}/redirects/traces/[0-9a-f]{32}\\n$`),
    )
    expect(stdout).toContain('; sent to phoenix.\n')
    await sink.stop()
  })

  test('replaces the configured ones, which get them otherwise', async () => {
    const [named, configured] = [await OtlpSink.start(), await OtlpSink.start()]
    const env = { HOOKSPAN_BACKENDS: `jaeger=${configured.url}` }
    await demo(['--backend', `otlp=${named.url}`], { env })
    expect([named.spanNames.length, configured.spanNames.length]).toEqual([41, 0])
    expect((await demo([], { env })).stdout).toContain('; sent to jaeger.\n')
    expect([named.spanNames.length, configured.spanNames.length]).toEqual([41, 41])
    await Promise.all([named.stop(), configured.stop()])
  })

  test('reports a backend that is sent metrics only', async () => {
    const sink = await OtlpSink.start()
    const env = { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${sink.url}/v1/metrics` }
    const { code, stdout, stderr } = await demo([], { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'otlp got the metrics\n' })
    expect(stdout).toContain('; sent to otlp.\n')
    expect(sink.spanNames).toEqual([])
    expect(sink.metricNames).toContain('hermes.tokens.input')
    await sink.stop()
  })

  test('reports a missing one in one line, and draws the traces', async () => {
    const sink = await OtlpSink.start()
    const { url } = sink
    await sink.stop()
    const { code, stdout, stderr } = await demo(['--backend', `jaeger=${url}`])
    expect(code).toBe(1)
    expect(stdout.match(/^● /gm)).toHaveLength(4)
    expect(stdout).toContain('; no backend received anything.\n')
    const [cause, count, ...others] = stderr.trimEnd().split('\n')
    expect(cause).toMatch(/^hookspan: backend jaeger: nothing listens at /)
    expect([count, ...others]).toEqual(['jaeger got 0 of 41 spans; 41 are pending'])
  })

  test.each<[string[], string]>([
    [['--backend', 'jeager'], '--backend does not know the type "jeager"; did you mean jaeger?'],
    [['--bogus'], 'unknown option --bogus'],
    [['file.jsonl'], 'expected no argument, got "file.jsonl"'],
  ])('is used wrongly: %j', async (args, message) => {
    const { code, stdout, stderr } = await demo(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.split('\n')[0]).toBe(`hookspan demo: ${message}`)
    expect(storedFiles()).toEqual([])
  })
})

describe('without storage', () => {
  const isDrawn = ({ stdout }: Shown): boolean => stdout.match(/^● /gm)?.length === 4

  test('reports a home directory that cannot be written', async () => {
    writeFileSync(join(home, '.local'), 'a file where the directory should be')
    const shown = await demo()
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(isDrawn(shown)).toBe(true)
    const place = join(home, STATE, 'traces')
    expect(shown.stdout).toContain(
      `\nNot stored, because ${place} cannot be written: a part of the path is not a directory; nothing has left this machine.\n`,
    )
    expect(shown.stdout).not.toContain('print them again')
  })

  test('leaves the working directory alone without a home directory', async () => {
    const before = readdirSync(process.cwd())
    const shown = await demo([], { home: '' })
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(isDrawn(shown)).toBe(true)
    expect(shown.stdout).toContain('\nNot stored, because there is no home directory; ')
    expect(readdirSync(process.cwd())).toEqual(before)
  })

  test('runs with the local log switched off', async () => {
    const shown = await demo([], { env: { HOOKSPAN_LOCAL_LOG: 'false' } })
    expect(isDrawn(shown)).toBe(true)
    expect(shown.stdout).toContain('\nNot stored, because local_log is off; nothing has left this machine.\n')
    expect(storedFiles()).toEqual([])
  })
})

test("shows the demo whatever the agent's configuration", async () => {
  const taken = await OtlpSink.start()
  const env = {
    HOOKSPAN_ENABLED: 'false',
    HOOKSPAN_SAMPLE_RATE: '0',
    HOOKSPAN_PROMETHEUS: 'true',
    OTEL_EXPORTER_PROMETHEUS_PORT: new URL(taken.url).port,
  }
  expect(await demo([], { env })).toMatchObject({ code: 0, stderr: '' })
  expect(storedSpans()).toHaveLength(41)
  await taken.stop()
})

describe('a message', () => {
  const asked = (): unknown =>
    storedSpans().find(span => span.name === 'api.claude-haiku-4-5')?.attributes['input.value']

  test('is stored whole, because it is invented', async () => {
    await demo()
    expect(asked()).toContain('You review a change')
  })

  test.each<[string, string, Readonly<Record<string, string>>]>([
    ['a file', 'content_capture: preview', {}],
    ['a variable', '', { HOOKSPAN_CONTENT_CAPTURE: 'off' }],
    ["OpenTelemetry's variable", '', { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'NO_CONTENT' }],
  ])('is captured as %s configures', async (_what, yaml, env) => {
    mkdirSync(join(home, '.config', 'hookspan'), { recursive: true })
    writeFileSync(join(home, '.config', 'hookspan', 'config.yaml'), yaml)
    expect(await demo([], { env })).toMatchObject({ code: 0, stderr: '' })
    expect(asked()).toBeUndefined()
  })
})

describe('colours and width', () => {
  test.each<[FakeProcess, boolean]>([
    [{ columns: 120 }, true],
    [{}, false],
    [{ columns: 120, env: { NO_COLOR: '1' } }, false],
    [{ env: { FORCE_COLOR: '1' } }, true],
  ])('draws with %j', async (given, isColored) => {
    expect((await demo([], given)).stdout.includes('\x1b[')).toBe(isColored)
  })

  test.each<[string, FakeProcess]>([
    ['a narrow terminal', { columns: 60, env: { NO_COLOR: '1' } }],
    ['a pipe with COLUMNS', { env: { COLUMNS: '60' } }],
    ['a terminal that reports no columns, with COLUMNS', { columns: 0, env: { NO_COLOR: '1', COLUMNS: '60' } }],
  ])('fits %s', async (_what, given) => {
    const { stdout } = await demo([], given)
    const [drawn = ''] = stdout.split('\nStored in')
    expect(Math.max(...drawn.split('\n').map(displayWidth))).toBe(60)
  })
})

test('explains its use with --help', async () => {
  const { code, stdout } = await demo(['--help'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Usage: hookspan demo [\s\S]*content_capture: full[\s\S]*--backend TYPE\[=URL\] {2}/)
})
