import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DoctorScene, linesOf, PROBE_HINT, section } from './doctor-scene.ts'
import type { ServerBehaviour } from './doctor-server.ts'

let scene: DoctorScene
beforeEach(() => {
  scene = new DoctorScene()
})
afterEach(() => scene.remove())

const MILLIS = String.raw`\d+(\.\d+)? m?s`

test('sends nothing without a backend, and reports no error', async () => {
  const diagnosis = await scene.doctor()
  expect(diagnosis).toMatchObject({ code: 0, stderr: '' })
  expect(section(diagnosis, 'Backends')).toEqual(['  ok    none is configured: nothing leaves this machine'])
  expect(diagnosis.stdout.trimEnd().split('\n').at(-1)).toBe(
    'No problems found, but no agent is set up: run "npx hookspan init".',
  )
  expect(existsSync(scene.state)).toBe(false)
})

describe('a backend with an API', () => {
  interface Row {
    readonly yaml: (url: string) => string
    readonly asked: RegExp
    readonly authorization?: string
    /** Its API has a port of its own. */
    readonly port?: number
  }
  const basic = `Basic ${Buffer.from('pk-lf-1:sk-lf-2').toString('base64')}`
  const rows: [string, Row][] = [
    [
      'phoenix',
      {
        yaml: url => `{ type: phoenix, endpoint: "${url}", api_key: px-key }`,
        asked: /^\/v1\/projects\/default\/spans\?trace_id=[0-9a-f]{32}$/,
        authorization: 'Bearer px-key',
      },
    ],
    [
      'langfuse',
      {
        yaml: url => `{ type: langfuse, base_url: "${url}", public_key: pk-lf-1, secret_key: sk-lf-2 }`,
        asked: /^\/api\/public\/traces\/[0-9a-f]{32}$/,
        authorization: basic,
      },
    ],
    [
      'phoenix',
      {
        yaml: url =>
          `{ type: phoenix, endpoint: "${url}", headers_command: ["${process.execPath}", -e, console.log("short-lived")] }`,
        asked: /^\/v1\/projects\/default\/spans\?/,
        authorization: 'Bearer short-lived',
      },
    ],
    [
      'mlflow',
      {
        yaml: url => `{ type: mlflow, endpoint: "${url}", experiment_id: 7 }`,
        asked: /^\/api\/3\.0\/mlflow\/traces\/tr-[0-9a-f]{32}$/,
      },
    ],
  ]
  // Elsewhere 127.0.0.1 is the only loopback address, and somebody may need those ports of it.
  if (process.platform === 'linux') {
    const otlp = (type: string) => (url: string) => `{ type: ${type}, endpoint: "${url}" }`
    const path = /^\/api\/traces\/[0-9a-f]{32}$/
    const proxied = /^\/api\/datasources\/proxy\/uid\/tempo\/api\/traces\/[0-9a-f]{32}$/
    rows.push(['jaeger', { yaml: otlp('jaeger'), asked: path, port: 16686 }])
    rows.push(['tempo', { yaml: otlp('tempo'), asked: path, port: 3200 }])
    rows.push(['lgtm', { yaml: otlp('lgtm'), asked: proxied, port: 3000 }])
  }

  test.each(rows)('has read the span back: %s', async (type, { yaml, asked, authorization, port }) => {
    const own = `127.${(process.pid >> 8) & 255}.${process.pid & 255}.77`
    const server = await (port === undefined ? scene.traceServer() : scene.traceServer(own, [0, port]))
    scene.configure(`backends:\n  - ${yaml(server.url)}\n`)
    const diagnosis = await scene.doctor()
    expect(diagnosis).toMatchObject({ code: 0, stderr: '' })
    const [line = '', ...others] = section(diagnosis, 'Backends')
    expect(others).toEqual([])
    expect(line).toMatch(
      new RegExp(
        `^  ok    ${type} ${server.url}\\S*/v1/traces: delivered and read back in ${MILLIS}(, and so was a metric)?$`,
      ),
    )
    expect(server.spanNames).toEqual(['hookspan.doctor'])
    expect(server.asked.map(({ path }) => path)).toEqual([expect.stringMatching(asked)])
    expect(server.asked[0]?.authorization).toBe(authorization)
  })

  async function phoenix(args: string[], behaviour: Partial<ServerBehaviour>) {
    const server = await scene.traceServer()
    Object.assign(server.behaviour, behaviour)
    const diagnosis = await scene.doctor([...args, '--backend', `phoenix=${server.url}`])
    const [line = '', ...others] = section(diagnosis, 'Backends')
    expect(others).toEqual([])
    return { line, code: diagnosis.code, server, diagnosis }
  }

  test('is asked again if it is slow', async () => {
    const { line, server } = await phoenix([], { hiddenFor: 2 })
    expect(line).toMatch(/^ {2}ok .*: delivered and read back in /)
    expect(server.asked).toHaveLength(3)
  })

  test('causes a warning if it never shows the span', async () => {
    const { line, code, diagnosis } = await phoenix(['--wait', '1000'], { hiddenFor: Number.POSITIVE_INFINITY })
    expect(code).toBe(0)
    expect(line).toMatch(
      new RegExp(
        `^  warn  phoenix http\\S+: delivered in ${MILLIS}, but http\\S+ has not shown it within 1\\.0 s \\(it answers 200\\) → .*--wait 30000`,
      ),
    )
    expect(diagnosis.stdout.trimEnd().split('\n').at(-1)).toBe('No errors; 1 warning.')
  })

  test.each<[string, Partial<ServerBehaviour>, RegExp]>([
    ['hangs', { isApiHanging: true }, /^ {2}warn .* has not shown it within 1\.0 s → /],
    ['fails', { apiStatus: 503 }, /^ {2}warn .* \(it answers 503\) → /],
    ['refuses the key', { apiStatus: 403 }, /^ {2}warn .* answered the query with 403 → .*key has read access/],
    [
      'is a web page',
      { apiHeaders: { 'content-type': 'text/html; charset=utf-8' } },
      /^ {2}note .*is a web page, not the API of phoenix → look for service hookspan-doctor, span hookspan\.doctor/,
    ],
  ])('is reported if it %s', async (_what, behaviour, expected) => {
    const { line, code } = await phoenix(['--wait', '1000'], behaviour)
    expect(line).toMatch(expected)
    expect(code).toBe(0)
  })

  test('has the span although its API cannot be reached', async () => {
    const server = await scene.traceServer()
    const api = await scene.deadUrl()
    const secret = 'public_key: pk-lf-1, secret_key: sk-lf-2'
    scene.configure(`backends: [{ type: langfuse, endpoint: "${server.url}", base_url: "${api}", ${secret} }]\n`)
    const diagnosis = await scene.doctor()
    expect(diagnosis.code).toBe(0)
    expect(section(diagnosis, 'Backends')).toEqual([
      expect.stringMatching(
        `^  note  langfuse ${server.url}/v1/traces: delivered in .*; not read back: ${api} is not reachable \\(ECONNREFUSED\\) → look for`,
      ),
    ])
  })
})

describe('the probe', () => {
  test('names itself, its time and its origin, and is the service of no agent', async () => {
    const sink = await scene.otlpSink()
    const file = join(scene.home, 'spans.jsonl')
    scene.configure(
      `service_name: my-agent\nresource_attributes: { service.name: my-agent, team: red }\nbackends: [{ type: file, path: "${file}" }, { type: otlp, endpoint: "${sink.url}" }]\n`,
    )
    const { stdout } = await scene.doctor()
    expect(stdout.split('\n').filter(line => line === PROBE_HINT)).toHaveLength(1)
    const { resourceSpans } = JSON.parse(readFileSync(file, 'utf8').split('\n')[0] ?? '')
    const textsOf = (attributes: { key: string; value: { stringValue?: string } }[]) =>
      Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]))
    expect(textsOf(resourceSpans[0].resource.attributes)).toMatchObject({
      'service.name': 'hookspan-doctor',
      team: 'red',
    })
    const [span] = resourceSpans[0].scopeSpans[0].spans
    const attributes = textsOf(span.attributes)
    expect(attributes).toEqual({
      'hookspan.doctor.sent_at': expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      'hookspan.doctor.sent_from': hostname(),
      'input.value': expect.stringMatching(/^A probe of hookspan doctor \S+, sent from .* at .*; no agent's turn$/),
    })
    const metrics = sink.requests
      .filter(({ path }) => path === '/v1/metrics')
      .map(({ body }) => body.toString('latin1'))
    expect(metrics.length).toBeGreaterThan(0)
    for (const body of metrics) expect(body).toContain('hookspan-doctor')
  })

  test('is not mentioned if nothing has arrived', async () => {
    const { stdout } = await scene.doctor(['--backend', `otlp=${await scene.deadUrl()}`])
    expect(stdout).not.toContain(PROBE_HINT)
  })

  test('is in no panel and no alert', () => {
    const files = readdirSync('observability', { recursive: true, encoding: 'utf8' })
      .filter(name => /\.(json|ya?ml)$/.test(name))
      .map(name => join('observability', name))
    expect(files.length).toBeGreaterThan(3)
    for (const file of files) expect(readFileSync(file, 'utf8'), file).not.toMatch(/hookspan[._-]doctor/)
  })
})

describe('a backend for log events alone', () => {
  test('is sent no probe, which is no warning', async () => {
    const sink = await scene.otlpSink()
    scene.configure(
      `backends: [{ type: otlp, name: loki, endpoint: "${sink.url}", logs: true, traces: false, metrics: false }]\n`,
    )
    const diagnosis = await scene.doctor()
    expect(diagnosis.code).toBe(0)
    expect(section(diagnosis, 'Backends')).toEqual([
      `  note  loki ${sink.url}/v1/logs: it receives only log events, which are not probed`,
    ])
    expect(sink.requests).toEqual([])
  })

  test('is distinguished from one that is sent nothing', async () => {
    const sink = await scene.otlpSink()
    scene.configure(`backends: [{ type: otlp, endpoint: "${sink.url}", traces: false, metrics: false }]\n`)
    expect(section(await scene.doctor(), 'Backends')).toEqual([
      expect.stringMatching(/^ {2}note {2}otlp.*: it receives neither traces nor metrics$/),
    ])
  })
})

describe('a backend without an API', () => {
  test('accepts the span, and a metric', async () => {
    const sink = await scene.otlpSink()
    const diagnosis = await scene.doctor(['--backend', `otlp=${sink.url}`])
    expect(diagnosis.code).toBe(0)
    expect(section(diagnosis, 'Backends')).toEqual([
      expect.stringMatching(
        `^  ok    otlp ${sink.url}/v1/traces: delivered in ${MILLIS}, and so was a metric; otlp has no API for reading it back$`,
      ),
    ])
    expect(sink.spanNames).toEqual(['hookspan.doctor'])
    expect(new Set(sink.metricNames)).toEqual(new Set(['hookspan.doctor.probes']))
  })

  test('accepts traces and no metrics', async () => {
    const server = await scene.traceServer()
    const metrics = await scene.otlpSink({ kind: 'status', status: 404 })
    scene.configure(
      `backends: [{ type: otlp, name: both, endpoint: "${server.url}", traces: true, metrics: false }, { type: otlp, name: numbers, endpoint: "${metrics.url}", traces: false }]\n`,
    )
    const diagnosis = await scene.doctor()
    expect(diagnosis.code).toBe(1)
    expect(section(diagnosis, 'Backends')).toEqual([
      expect.stringMatching(/^ {2}ok {4}both .*: delivered in /),
      expect.stringMatching(
        /^ {2}fail {2}numbers: .*\/v1\/metrics answered 404: .* → .*metrics: false if it takes traces and no metrics$/,
      ),
    ])
  })

  test('is sent metrics only', async () => {
    const sink = await scene.otlpSink()
    scene.configure(`backends: [{ type: otlp, endpoint: "${sink.url}", traces: false }]\n`)
    expect(section(await scene.doctor(), 'Backends')).toEqual([
      `  ok    otlp ${sink.url}/v1/metrics: a metric was delivered; it receives no traces`,
    ])
    expect(sink.spanNames).toEqual([])
  })

  test('is written and read for a file', async () => {
    const path = `${scene.home}/spans.jsonl`
    const diagnosis = await scene.doctor(['--backend', `file=${path}`])
    expect(section(diagnosis, 'Backends')).toEqual([
      expect.stringMatching(`^  ok    file ${path}: delivered and read back in ${MILLIS}$`),
    ])
  })

  test('leaves the terminal alone', async () => {
    const diagnosis = await scene.doctor(['--json', '--backend', 'console'])
    expect(JSON.parse(diagnosis.stdout).backends).toMatchObject([{ type: 'console', delivered: null, problem: null }])
  })
})

test('warns about a setting that is ignored', async () => {
  const server = await scene.traceServer()
  scene.configure(`backends: [{ type: phoenix, endpoint: "${server.url}", protocol: http/json }]\n`)
  const diagnosis = await scene.doctor()
  expect(diagnosis.code).toBe(0)
  expect(linesOf(diagnosis, 'warn')).toEqual([
    'phoenix: phoenix takes http/protobuf only; protocol: http/json is ignored',
  ])
})

test('sends the probe whatever the configuration excludes', async () => {
  const server = await scene.traceServer()
  const env = { HOOKSPAN_SAMPLE_RATE: '0', HOOKSPAN_ENABLED: 'false' }
  const diagnosis = await scene.doctor(['--backend', `phoenix=${server.url}`], { env })
  expect(section(diagnosis, 'Backends')).toEqual([expect.stringContaining('delivered and read back')])
  expect(linesOf(diagnosis, 'warn')).toEqual([
    'nothing is recorded: hookspan is disabled (HOOKSPAN_ENABLED) → set enabled to true',
    'no trace is recorded: sample_rate is 0 (HOOKSPAN_SAMPLE_RATE) → raise sample_rate',
  ])
})

describe('clocks', () => {
  test.each([
    ['ahead', 600_000, 'ahead of', 'past'],
    ['behind', -7_200_000, 'behind', 'future'],
  ])('warns about a server that is %s', async (_what, aheadMillis, side, place) => {
    const server = await scene.traceServer()
    server.behaviour.aheadMillis = aheadMillis
    const diagnosis = await scene.doctor(['--backend', `phoenix=${server.url}`])
    expect(diagnosis.code).toBe(0)
    expect(section(diagnosis, 'Clocks')).toEqual([
      expect.stringMatching(
        `^  warn  the clock of ${server.url.slice(7)} is \\S+ \\S+ \\S+ \\S+ ${side} this machine's: spans show up in its ${place}, or not at all → set the one that is wrong`,
      ),
    ])
  })

  test('reads the clock from the answer to the span alone', async () => {
    const sink = await scene.otlpSink({
      kind: 'status',
      status: 401,
      headers: { date: 'Mon, 05 Jan 2026 00:00:00 GMT' },
    })
    const diagnosis = await scene.doctor(['--backend', `jaeger=${sink.url}`])
    expect(section(diagnosis, 'Clocks')).toEqual([expect.stringContaining("behind this machine's")])
  })

  test('is fine for servers that are right', async () => {
    const server = await scene.traceServer()
    const diagnosis = await scene.doctor(['--backend', `phoenix=${server.url}`])
    expect(section(diagnosis, 'Clocks')).toEqual([`  ok    ${server.url.slice(7)}: within 30 s of this machine`])
  })
})
