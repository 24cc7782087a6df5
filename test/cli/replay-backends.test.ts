import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { OtlpSink, type SinkBehaviour } from '../support/otlp-sink.ts'
import { fixture } from './program.ts'
import { type Replayed, ScratchReplay } from './scratch-replay.ts'

const TURN = fixture('hermes-turn.jsonl')

let scratch: ScratchReplay
let sink: OtlpSink
beforeEach(async () => {
  scratch = new ScratchReplay()
  sink = await OtlpSink.start()
})
afterEach(async () => {
  scratch.remove()
  await sink.stop()
})

/** For a server that says nothing. One that answers is waited for, however busy this machine is. */
const IMPATIENT = { HOOKSPAN_SPAN_BATCH_EXPORT_TIMEOUT_MS: '300' }

function replayTo(backend: string, env: Record<string, string> = {}): Promise<Replayed> {
  return scratch.replay([TURN, '--backend', backend], { env })
}

function told(stderr: string): string[] {
  return stderr
    .trimEnd()
    .replace(/stored in .*$/, 'stored in …')
    .split('\n')
}

test('sends all spans to a healthy backend, and links the last trace', async () => {
  const { code, stdout, stderr } = await replayTo(`jaeger=${sink.url}`)
  expect(code).toBe(0)
  expect(sink.spanNames).toHaveLength(13)
  expect(stdout.match(/^● /gm)).toHaveLength(1)
  const [traceId] = sink.requests.flatMap(({ records }) => records.map(record => record.traceId))
  expect(told(stderr)).toEqual([
    `jaeger got 13 spans; the last trace: http://127.0.0.1:16686/trace/${traceId}`,
    '28 records → 13 spans; stored in …',
  ])
})

test('reports a backend that gets none because none is kept', async () => {
  const path = join(scratch.home, 'config.json')
  const backends = [{ type: 'otlp', endpoint: sink.url, metrics: false }]
  writeFileSync(path, JSON.stringify({ backends, keep: { errors: false } }))
  const { code, stderr } = await scratch.replay([TURN], { env: { HOOKSPAN_CONFIG: path } })
  expect([code, sink.spanNames]).toEqual([0, []])
  expect(told(stderr)[0]).toBe('otlp got no spans: `keep` selects none of these turns')
})

test('sends to the named ones, and not to the configured ones', async () => {
  const [other, configured] = [await OtlpSink.start(), await OtlpSink.start()]
  const args = [TURN, '--backend', `otlp=${sink.url}`, '--backend', other.url]
  const { code, stderr } = await scratch.replay(args, { env: { HOOKSPAN_BACKENDS: `jaeger=${configured.url}` } })
  expect(code).toBe(0)
  expect(told(stderr).slice(0, 2)).toEqual(['otlp got 13 spans', 'otlp-2 got 13 spans'])
  expect([sink, other, configured].map(each => each.spanNames.length)).toEqual([13, 13, 0])
  await Promise.all([other.stop(), configured.stop()])
})

test('sends to the configured ones when none is named', async () => {
  const { code } = await scratch.replay([TURN], { env: { HOOKSPAN_BACKENDS: `jaeger=${sink.url}` } })
  expect(code).toBe(0)
  expect(sink.spanNames).toHaveLength(13)
})

const NO_SPAN = ['jaeger got 0 of 13 spans; 13 are pending', '28 records → 13 spans; stored in …']

describe('an unavailable backend, in one line with the exit code', () => {
  test.each<[string, SinkBehaviour, RegExp]>([
    ['401', { kind: 'status', status: 401 }, /answered 401: it refuses the credentials\. Set headers$/],
    ['404', { kind: 'status', status: 404 }, /answered 404: there is no OTLP endpoint for traces\. The endpoint is /],
    [
      '415',
      { kind: 'status', status: 415 },
      /answered 415: it does not take http\/json\. Set protocol: http\/protobuf$/,
    ],
    ['503', { kind: 'status', status: 503, headers: { 'retry-after': '60' } }, /answered 503: the server failed/],
    ['hanging', { kind: 'hanging' }, /did not answer within \d+ ms\. /],
    ['closing the connection', { kind: 'reset' }, /closed the connection without an answer/],
    ['a web page', { kind: 'ok', contentType: 'text/html', body: '<html>' }, /answered with a web page/],
  ])('is reported for %s', async (_what, behaviour, cause) => {
    sink.behaviour = behaviour
    const env = behaviour.kind === 'hanging' ? IMPATIENT : {}
    const { code, stdout, stderr } = await replayTo(`jaeger=${sink.url}`, env)
    expect(code).toBe(1)
    expect(stdout.match(/^● /gm)).toHaveLength(1)
    const [first, ...others] = told(stderr)
    expect(first).toMatch(cause)
    expect(first).toMatch(new RegExp(`^hookspan: backend jaeger: ${sink.url}/v1/traces `))
    expect(others).toEqual(NO_SPAN)
  })

  test('is reported for a closed port', async () => {
    const { url } = sink
    await sink.stop()
    const { code, stderr } = await replayTo(`jaeger=${url}`)
    sink = await OtlpSink.start()
    expect(code).toBe(1)
    expect(told(stderr)).toEqual([
      expect.stringMatching(
        /^hookspan: backend jaeger: nothing listens at http:\/\/127\.0\.0\.1:\d+\/v1\/traces\. Start it/,
      ),
      ...NO_SPAN,
    ])
  })

  test('is reported if it is not set up', async () => {
    const { code, stderr } = await replayTo('langfuse')
    expect(code).toBe(1)
    expect(told(stderr)).toEqual([expect.stringMatching(/^hookspan: .*langfuse.*public_key/), NO_SPAN[1]])
  })

  test('is reported if it is sent metrics only', async () => {
    sink.behaviour = { kind: 'status', status: 404 }
    const config = scratch.put('c.yaml', `backends: [{ type: otlp, traces: false, endpoint: '${sink.url}' }]\n`)
    const { code, stderr } = await scratch.replay([TURN], { env: { HOOKSPAN_CONFIG: config } })
    expect(code).toBe(1)
    expect(told(stderr)).toEqual([
      expect.stringMatching(
        /^hookspan: backend otlp: .*\/v1\/metrics answered 404: there is no OTLP endpoint for metrics/,
      ),
      NO_SPAN[1],
    ])
  })
})

test('is reported if it fails half-way, with its delivered part', async () => {
  const env = { HOOKSPAN_SPAN_BATCH_MAX_EXPORT_BATCH_SIZE: '5' }
  void sink
    .until(() => sink.requests.length === 1)
    .then(() => {
      sink.behaviour = { kind: 'status', status: 404 }
    })
  const { code, stderr } = await replayTo(`jaeger=${sink.url}`, env)
  expect(code).toBe(1)
  // How many are in the first request, the time decides.
  const got = sink.requests[0]?.records.length ?? 0
  expect(got).toBeGreaterThan(0)
  expect(told(stderr)[1]).toContain(`jaeger got ${got} of 13 spans; ${13 - got} are pending; the last trace: `)
})
