import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DoctorScene } from './doctor-scene.ts'
import type { TraceServer } from './doctor-server.ts'

let scene: DoctorScene
let server: TraceServer
beforeEach(async () => {
  scene = new DoctorScene()
  server = await scene.traceServer()
})
afterEach(() => scene.remove())

describe('every output of doctor', () => {
  const SECRETS = [
    't0ken-in-header',
    'hunter2',
    'query-k3y',
    'px-k3y',
    'sk-lf-k3y',
    'from-the-env',
    'my-own-pattern',
    'pr0xy',
  ]
  const env = { PX_KEY: 'px-k3y', LF_KEY: 'sk-lf-k3y from-the-env', HTTPS_PROXY: 'http://me:pr0xy@proxy.example:1' }

  function configuration(url: string): string {
    const { host } = new URL(url)
    return `
backends:
  - { type: otlp, name: header, endpoint: "${url}", headers: { authorization: "Bearer t0ken-in-header" } }
  - { type: otlp, name: userinfo, endpoint: "http://me:hunter2@${host}" }
  - { type: otlp, name: query, endpoint: "${url}/v1/traces?key=query-k3y", exact_endpoint: true }
  - { type: phoenix, endpoint: "${url}", api_key_env: PX_KEY }
  - { type: langfuse, base_url: "http://me:hunter2@${host}", public_key: pk-lf-1, secret_key_env: LF_KEY }
redact_patterns: ['my-own-pattern']
`
  }

  test.each<[string, (server: TraceServer) => Promise<string>]>([
    ['all is well', async ({ url }) => url],
    [
      'keys are refused',
      async ({ url, behaviour }) => {
        behaviour.otlpStatus = 401
        return url
      },
    ],
    [
      'it redirects',
      async ({ url, behaviour }) => {
        Object.assign(behaviour, {
          otlpStatus: 302,
          otlpHeaders: { location: `${url.replace('//', '//me:hunter2@')}/?k=query-k3y` },
        })
        return url
      },
    ],
    [
      'it is not shown',
      async ({ url, behaviour }) => {
        behaviour.hiddenFor = Number.POSITIVE_INFINITY
        return url
      },
    ],
    ['nothing listens', () => scene.deadUrl()],
  ])('hides secrets if %s', async (_what, prepare) => {
    scene.configure(configuration(await prepare(server)))
    for (const args of [['--wait', '100'], ['--wait', '100', '--json'], ['--offline']]) {
      const { stdout, stderr } = await scene.doctor(args, { env })
      expect(stdout).toContain('phoenix')
      for (const secret of SECRETS) expect(stdout + stderr).not.toContain(secret)
    }
  })
})
