import { chmodSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { LossLog } from '../../src/delivery/trace-log/losses.ts'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { DoctorScene, linesOf, section } from './doctor-scene.ts'
import type { TraceServer } from './doctor-server.ts'
import { fakeIo } from './fake-io.ts'

const NOW = fakeIo().now()

let scene: DoctorScene
let server: TraceServer
beforeEach(async () => {
  scene = new DoctorScene()
  server = await scene.traceServer()
})
afterEach(() => scene.remove())

/** A segment that nobody delivers to the backend, begun some time ago. */
function putBacklog(backend: string, startedMillisAgo: number, bytes: number): void {
  const name = `${NOW - startedMillisAgo}-1`
  for (const directory of ['traces', 'spool']) mkdirSync(join(scene.state, directory), { recursive: true, mode: 0o700 })
  chmodSync(scene.state, 0o700)
  writeFileSync(join(scene.state, 'traces', `${name}.jsonl`), 'x'.repeat(bytes), { mode: 0o600 })
  const checkpoint = join(scene.state, 'spool', `${name}.free.json`)
  writeFileSync(checkpoint, JSON.stringify({ open: false, delivered: { [backend]: 0 } }), { mode: 0o600 })
  utimesSync(checkpoint, NOW / 1000, NOW / 1000)
}

function putLoss(at: number, spans: number): void {
  const losses = new LossLog(scene.state, () => at)
  losses.note('jaeger', spans, 'the trace log was full')
  losses.save()
}

test('shows the values other than the default, with their source', async () => {
  scene.configure(`sample_rate: 0.25\nbackends:\n  - { type: phoenix, endpoint: "${server.url}" }\n`)
  const diagnosis = await scene.doctor([], { env: { HOOKSPAN_SPAN_NAMES: 'semconv' } })
  expect(diagnosis.code).toBe(0)
  expect(section(diagnosis, 'Configuration').map(line => line.replace(/ {2,}/g, '  '))).toEqual([
    `  ok  ${scene.home}/.config/hookspan/config.yaml is used`,
    '  note  about 25 % of traces are recorded (config.yaml line 1) → raise sample_rate for more',
    `  backends[0]  type=phoenix endpoint=${server.url}  config.yaml line 3`,
    '  span_names  semconv  HOOKSPAN_SPAN_NAMES',
    '  sample_rate  0.25  config.yaml line 1',
  ])
})

test('shows the errors of the configuration', async () => {
  scene.configure('root_span_ttl_ms: soon\nsampel_rate: 1\n')
  const diagnosis = await scene.doctor(['--offline'])
  expect(diagnosis).toMatchObject({ code: 1, stderr: '' })
  expect(linesOf(diagnosis, 'fail')).toEqual([
    'root_span_ttl_ms: expected a number ≥ 0, got "soon" (config.yaml line 1); using 600000 → correct it; "hookspan config" prints the effective configuration',
  ])
  expect(linesOf(diagnosis, 'warn')).toEqual([
    'sampel_rate: there is no such key (config.yaml line 2); did you mean sample_rate?',
  ])
})

describe('pending and dropped spans', () => {
  test('has those of the configured backends, whatever is probed', async () => {
    scene.configure('backends: [jaeger]\n')
    putBacklog('jaeger', 7_800_000, 2048)
    putBacklog('gone', 60_000, 10)
    const diagnosis = await scene.doctor(['--backend', `phoenix=${server.url}`])
    expect(diagnosis.code).toBe(0)
    expect(section(diagnosis, 'Pending delivery')).toEqual([
      '  warn  10 B for gone in 1 file, the oldest begun 1 m 00 s ago; no backend has that name now → configure gone again; otherwise it is deleted after 168 h',
      '  warn  2.0 KB for jaeger in 1 file, the oldest begun 2 h 10 m ago; no running agent delivers it → hookspan send --backend jaeger, or start an agent',
    ])
  })

  test("has a killed process's buffered traces, their backends, and the processes that can decide them", async () => {
    const backends = (url: string): string => `backends: [{ type: otlp, name: jaeger, endpoint: "${url}" }]\n`
    scene.configure(`keep: true\n${backends(server.url)}`)
    const quiet = { warn: () => undefined, error: () => undefined, debug: () => undefined }
    const plugin = createPluginIn({ host: 'agent' }, { env: {}, home: scene.home, isReplay: true, diagnostics: quiet })
    plugin.emit('pre_llm_call', { session_id: 's1', turn_id: 't1' })
    plugin.emit('on_session_end', { session_id: 's1', turn_id: 't1', completed: true })
    await plugin.shutdown()
    const [name = ''] = readdirSync(join(scene.state, 'traces'))
    const spool = `.local/state/hookspan/spool/${name.replace('.jsonl', '.free.json')}`
    scene.put(spool, '{"open":true,"delivered":{}}', 0o600)
    const waiting = async (): Promise<string[]> =>
      section(await scene.doctor(['--offline'], { now: Date.now }), 'Pending delivery')
    const what = /^ {2}warn {2}[\d.]+ KB held for jaeger in 1 file, .*; its agent ended before tail sampling decided/
      .source
    expect(await waiting()).toEqual([expect.stringMatching(`${what} → hookspan send, or start an agent$`)])
    scene.configure(backends(server.url))
    expect(await waiting()).toEqual([expect.stringMatching(`${what}, and keep is off → `)])
    scene.configure(`keep: true\n${backends('http://127.0.0.1:1')}`)
    expect(await waiting()).toEqual([expect.stringMatching(`${what}, and other backends are configured now → `)])
    const { unjudged } = JSON.parse((await scene.doctor(['--offline', '--json'])).stdout)
    expect(unjudged).toEqual([
      { backends: ['jaeger'], segments: 1, bytes: expect.any(Number), oldestAt: expect.any(Number) },
    ])
  })

  test('lists losses of the last seven days, with their reason', async () => {
    putLoss(NOW - 8 * 86_400_000, 1000)
    putLoss(NOW - 3_600_000, 5)
    putLoss(NOW - 7_200_000, 7)
    expect(section(await scene.doctor(['--offline']), 'Dropped spans')).toEqual([
      '  warn  12 spans for jaeger, the last 1 h 00 m ago: the trace log was full → raise local_log_max_bytes, or fix that backend earlier',
    ])
  })
})

describe('--offline', () => {
  test('sends nothing', async () => {
    scene.configure(`backends: [{ type: phoenix, endpoint: "${server.url}" }, { type: langfuse }]\n`)
    const diagnosis = await scene.doctor(['--offline'])
    expect(diagnosis.code).toBe(1)
    expect(section(diagnosis, 'Backends')).toEqual([
      `  note  phoenix ${server.url}/v1/traces: not tried`,
      expect.stringMatching(/^ {2}fail {2}langfuse is off: public_key is missing → Set public_key/),
    ])
    expect([server.spanNames, server.asked]).toEqual([[], []])
  })
})

describe('--json', () => {
  test('is one object on one line', async () => {
    const dead = await scene.deadUrl()
    scene.configure(
      `backends:\n  - { type: phoenix, endpoint: "${server.url}" }\n  - { type: otlp, endpoint: "${dead}" }\n`,
    )
    putBacklog('otlp', 1000, 10)
    putLoss(NOW - 1000, 3)
    const { code, stdout, stderr } = await scene.doctor(['--json'])
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout.trimEnd()).not.toContain('\n')
    const report = JSON.parse(stdout)
    const url = `${server.url}/v1/traces`
    expect(report).toEqual({
      ok: false,
      version: packageJson.version,
      node: process.versions.node,
      agents: [],
      config: {
        file: `${scene.home}/.config/hookspan/config.yaml`,
        values: [
          { key: 'backends[0]', value: `type=phoenix endpoint=${server.url}`, source: 'config.yaml line 2' },
          { key: 'backends[1]', value: `type=otlp endpoint=${dead}`, source: 'config.yaml line 3' },
        ],
        problems: [],
      },
      backends: [
        {
          name: 'phoenix',
          type: 'phoenix',
          url,
          delivered: true,
          metrics: null,
          readBack: true,
          millis: expect.any(Number),
          problem: null,
        },
        {
          name: 'otlp',
          type: 'otlp',
          url: `${dead}/v1/traces`,
          delivered: false,
          metrics: null,
          readBack: null,
          millis: expect.any(Number),
          problem: expect.stringMatching(
            `^backend otlp: nothing listens at ${dead}/v1/traces. Start it, or correct endpoint`,
          ),
        },
      ],
      backlog: [{ backend: 'otlp', segments: 1, bytes: 10, oldestAt: NOW - 1000, isLive: false }],
      unjudged: [],
      losses: [{ at: NOW - 1000, backend: 'jaeger', spans: 3, reason: 'the trace log was full' }],
      findings: expect.any(Array),
    })
    expect(report.findings).toContainEqual({
      level: 'fail',
      area: 'Backends',
      what: `otlp: nothing listens at ${dead}/v1/traces`,
      remedy: expect.stringMatching(/^Start it, or correct endpoint/),
    })
  })

  test('reports no error', async () => {
    const { code, stdout } = await scene.doctor(['--json', '--offline'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      config: { file: null, values: [] },
      backends: [],
      backlog: [],
      losses: [],
    })
  })
})

describe('on a terminal', () => {
  test('has colours in its marks, and erases its progress', async () => {
    const dead = await scene.deadUrl()
    const args = ['--backend', `phoenix=${server.url}`, '--backend', `otlp=${dead}`]
    const { stdout, stderr } = await scene.doctor(args, { columns: 100 })
    expect(stdout).toContain('\x1b[32m  ok    \x1b[0m')
    expect(stdout).toContain('\x1b[31m  fail  \x1b[0m')
    expect(stderr.endsWith('probing …\r\x1b[K')).toBe(true)
    const plain = await scene.doctor(args, { columns: 100, env: { NO_COLOR: '1' } })
    const shape = (text: string): string => text.replace(/\d/g, '0').replace(/0+ ms/g, '0 ms')
    expect(shape(stripVTControlCharacters(stdout))).toBe(shape(plain.stdout))
  })

  test('moves no cursor by foreign text', async () => {
    const losses = new LossLog(scene.state, () => NOW)
    losses.note('jae\x1b[2Jger', 1, 'the trace log was full')
    losses.save()
    const { stdout } = await scene.doctor(['--offline'])
    expect(stdout).toContain('1 span for jaeger')
    expect(stdout).not.toContain('\x1b')
  })
})

test.each<[string[], string]>([
  [['--bogus'], 'unknown option --bogus'],
  [['jaeger'], 'expected no argument, got "jaeger"'],
  [['--wait', 'soon'], '--wait takes milliseconds, got "soon"'],
  [['--backend', 'jeager'], '--backend does not know the type "jeager"; did you mean jaeger?'],
])('is used wrongly: %j', async (args, message) => {
  const { code, stdout, stderr } = await scene.doctor(args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr.split('\n')[0]).toBe(`hookspan doctor: ${message}`)
})

test('announces in --help that it sends a span', async () => {
  const { code, stdout } = await scene.doctor(['--help'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Usage: hookspan doctor /)
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    'Sends a span named hookspan.doctor, of the service hookspan-doctor, to each configured backend',
  )
})
