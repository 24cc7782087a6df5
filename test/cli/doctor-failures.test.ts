import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SinkBehaviour } from '../support/otlp-sink.ts'
import { DoctorScene, linesOf, section } from './doctor-scene.ts'

let scene: DoctorScene
beforeEach(() => {
  scene = new DoctorScene()
})
afterEach(() => scene.remove())

describe('a failure, in one line with a remedy and exit 1', () => {
  async function onlyFailure(args: string[], env: Record<string, string> = {}): Promise<string> {
    const diagnosis = await scene.doctor(args, { env })
    expect(diagnosis).toMatchObject({ code: 1, stderr: '' })
    const [line = '', ...others] = linesOf(diagnosis, 'fail')
    expect(others).toEqual([])
    expect(section(diagnosis, 'Backends')).toEqual([`  fail  ${line}`])
    expect(diagnosis.stdout.trimEnd().split('\n').at(-1)).toBe('1 error.')
    // The fate of what an agent records meanwhile is not the probe's.
    expect(line).not.toMatch(/dropped|kept/)
    return line
  }

  const answers: [string, SinkBehaviour, string, RegExp][] = [
    [
      'a wrong path',
      { kind: 'status', status: 404 },
      'otlp',
      /answered 404: there is no OTLP endpoint for traces → The endpoint is a base URL or ends in \/v1\/traces; correct endpoint/,
    ],
    [
      'a wrong token',
      { kind: 'status', status: 401 },
      'phoenix',
      /answered 401: it refuses the credentials → Set api_key /,
    ],
    [
      'JSON to a server of protobuf',
      { kind: 'status', status: 415 },
      'jaeger',
      /answered 415: it does not take http\/json → Set protocol: http\/protobuf$/,
    ],
    [
      'a redirect',
      { kind: 'status', status: 308, headers: { location: 'https://collector.example/v1/traces?key=s3cret' } },
      'otlp',
      /answered 308: it redirects to https:\/\/collector\.example\/v1\/traces → Set endpoint to the final URL$/,
    ],
    [
      'a web page',
      { kind: 'ok', contentType: 'text/html', body: '<html>' },
      'otlp',
      /answered with a web page, not as an OTLP endpoint → correct endpoint/,
    ],
    ['no room for it', { kind: 'status', status: 507 }, 'otlp', /answered 507: the server failed$/],
    ['a broken connection', { kind: 'reset' }, 'otlp', /closed the connection without an answer → Check that/],
  ]

  test.each(answers)('is reported for %s', async (_what, behaviour, type, expected) => {
    const { url } = await scene.otlpSink(behaviour)
    const line = await onlyFailure(['--backend', `${type}=${url}`])
    expect(line).toMatch(expected)
    expect(line.startsWith(`${type}: ${url}/v1/traces `)).toBe(true)
  })

  test('is reported for a closed port', async () => {
    const url = await scene.deadUrl()
    expect(await onlyFailure(['--backend', `jaeger=${url}`])).toMatch(
      new RegExp(`^jaeger: nothing listens at ${url}/v1/traces → Start it, or correct endpoint .*\\(ECONNREFUSED\\)$`),
    )
  })

  test('is reported for a port that hangs', async () => {
    const { url } = await scene.otlpSink({ kind: 'hanging' })
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TIMEOUT: '200' }
    expect(await onlyFailure([], env)).toBe(
      `otlp: ${url}/v1/traces did not answer within 200 ms → Check the backend, or raise timeout_ms`,
    )
  })

  test('is reported for a port that does not serve HTTP', async () => {
    const server = createServer(
      socket =>
        void socket
          .on('error', () => undefined)
          .end('SSH-2.0-OpenSSH_9.6\r\n')
          .resume(),
    )
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    scene.uses({ stop: () => new Promise(resolve => server.close(() => resolve())) })
    const { port } = server.address() as { port: number }
    const line = await onlyFailure(['--backend', `otlp=http://127.0.0.1:${port}`])
    expect(line).toMatch(/answers, but not in HTTP .*4318 the one of OTLP\/HTTP$/)
  })

  const files: [string, string, RegExp][] = [
    [
      'a path below a file',
      '/dev/null/traces/spans.jsonl',
      /a part of the path is not a directory \(ENOTDIR\) → Choose a path of directories/,
    ],
  ]
  if (process.platform === 'linux')
    files.push([
      'a full disk',
      '/dev/full',
      /the disk is full \(ENOSPC\) → Free some space on that disk or choose another path/,
    ])

  test.each(files)('is reported for %s', async (_what, path, expected) => {
    expect(await onlyFailure(['--backend', `file=${path}`])).toMatch(expected)
  })

  test('is reported for a backend that is not set up', async () => {
    expect(await onlyFailure(['--backend', 'langfuse'])).toMatch(
      /^langfuse is off: public_key is missing → Set public_key, or public_key_env to the name of a variable$/,
    )
  })

  test('is reported for one of several; the others are probed', async () => {
    const [server, dead] = [await scene.traceServer(), await scene.deadUrl()]
    const diagnosis = await scene.doctor(['--backend', `jaeger=${dead}`, '--backend', `phoenix=${server.url}`])
    expect(diagnosis.code).toBe(1)
    expect(section(diagnosis, 'Backends')).toEqual([
      expect.stringMatching(/^ {2}fail {2}jaeger: nothing listens/),
      expect.stringMatching(/^ {2}ok {4}phoenix .*read back/),
    ])
  })
})
