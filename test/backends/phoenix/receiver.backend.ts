import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PluginOptions } from '../../../src/index.ts'
import { Program } from '../../cli/program.ts'
import { START_MILLIS } from '../servers/phoenix.ts'
import { eventually } from '../support/eventually.ts'
import { PhoenixQuery } from './query.ts'
import { type RecordedTurn, recordTurn } from './recorded-turn.ts'
import { Scene } from './scene.ts'

const SPANS = 4

type Backend = Readonly<Record<string, string | boolean>>

function backendsOf(endpoint: string, more: Backend): NonNullable<PluginOptions['backends']> {
  return [{ type: 'phoenix', endpoint, ...more }] as unknown as NonNullable<PluginOptions['backends']>
}

describe('an open Phoenix', () => {
  let scene: Scene
  let program: Program

  beforeAll(async () => {
    program = new Program()
    scene = await Scene.start()
  }, START_MILLIS)

  afterAll(async () => {
    program?.remove()
    await scene?.stop()
  })

  function record(project: string, more: Backend, endpoint: string = scene.phoenix.url): Promise<RecordedTurn> {
    const config = { project_name: project, backends: backendsOf(endpoint, more) }
    return recordTurn({ home: join(scene.home, project), config })
  }

  test('accepts protobuf, plain and compressed', async () => {
    for (const compression of ['none', 'gzip']) {
      const { sent, warnings } = await record(compression, { compression })
      expect({ sent, warnings }).toEqual({ sent: { delivered: SPANS, spooled: 0, dropped: 0 }, warnings: [] })
      expect(await scene.settled(compression, SPANS)).toBe(SPANS)
    }
  })

  test('answers JSON with 415; a request for JSON gets one line and protobuf', async () => {
    const answer = await fetch(`${scene.phoenix.url}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"resourceSpans":[]}',
    })
    expect(answer.status).toBe(415)
    const { sent, warnings } = await record('json', { protocol: 'http/json' })
    expect(sent).toEqual({ delivered: SPANS, spooled: 0, dropped: 0 })
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/^backend phoenix: .*http\/json/)
    expect(await scene.settled('json', SPANS)).toBe(SPANS)
  })

  test('has no path for metrics', async () => {
    const answer = await fetch(`${scene.phoenix.url}/v1/metrics`, { method: 'POST', body: '' })
    expect([404, 405]).toContain(answer.status)
  })

  test('causes one line for a wrong path, and the trace is kept', async () => {
    const endpoint = `${scene.phoenix.url}/v1/nowhere`
    const { sent, warnings } = await record('nowhere', { exact_endpoint: true }, endpoint)
    expect(sent).toEqual({ delivered: 0, spooled: SPANS, dropped: 0 })
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(
      new RegExp(`^backend phoenix: ${endpoint} answered 40[45]: there is no OTLP endpoint for traces`),
    )
  })

  test('files traces under `default` without a project name', async () => {
    const home = join(scene.home, 'unnamed')
    await recordTurn({ home, config: { backends: backendsOf(scene.phoenix.url, {}) } })
    expect(await scene.settled('default', SPANS)).toBe(SPANS)
  })

  test('receives a span of hookspan doctor, which reads it back from the configured project', async () => {
    const env = { HOOKSPAN_PROJECT_NAME: 'größe & co' }
    const args = ['doctor', '--wait', '30000', '--backend', `phoenix=${scene.phoenix.url}`]
    const { code, stdout, stderr } = await program.run(args, { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/ {2}ok {4}phoenix .*: delivered and read back in /)
    const spans = await scene.query.spans('größe & co')
    expect(spans.map(({ name }) => name)).toEqual(['hookspan.doctor'])
  })
})

describe('a Phoenix with authentication', () => {
  let scene: Scene
  let program: Program
  let apiKey: string

  beforeAll(async () => {
    program = new Program()
    scene = await Scene.start({ authentication: true })
    const { createSystemApiKey } = await scene.query.graphql<{ createSystemApiKey: { jwt: string } }>(
      'mutation { createSystemApiKey(input: { name: "hookspan" }) { jwt } }',
    )
    apiKey = createSystemApiKey.jwt
  }, START_MILLIS)

  afterAll(async () => {
    program?.remove()
    await scene?.stop()
  })

  function record(project: string, more: Backend): Promise<RecordedTurn> {
    const config = { project_name: project, backends: backendsOf(scene.phoenix.url, more) }
    return recordTurn({ home: join(scene.home, project), config })
  }

  test('accepts data with its key', async () => {
    const { sent, warnings } = await record('key', { api_key: apiKey })
    expect({ sent, warnings }).toEqual({ sent: { delivered: SPANS, spooled: 0, dropped: 0 }, warnings: [] })
    const query = new PhoenixQuery(scene.phoenix.url, apiKey)
    const spans = await eventually(
      () => query.spans('key').catch(() => []),
      ({ length }) => length >= SPANS,
    )
    expect(spans).toHaveLength(SPANS)
  })

  test('rejects data with a wrong key or none: one line, and the trace is kept', async () => {
    for (const [project, more] of [
      ['wrong', { api_key: 'eyJhbGciOiJIUzI1NiJ9.wrong.key' }],
      ['none', {}],
    ] as const) {
      const { sent, warnings } = await record(project, more)
      expect(sent).toEqual({ delivered: 0, spooled: SPANS, dropped: 0 })
      expect(warnings).toHaveLength(1)
      expect(warnings[0]).toMatch(/^backend phoenix: \S+ answered 401: it refuses the credentials\. Set .*api_key/)
      expect(warnings.join()).not.toContain('eyJ')
    }
  })

  function doctor(key: string): ReturnType<Program['run']> {
    const env = {
      PHOENIX_KEY: key,
      HOOKSPAN_CONFIG: join(program.home, 'config.yaml'),
    }
    return program.run(['doctor', '--wait', '30000'], { env })
  }

  test('returns its span to hookspan doctor with the key, which reports the fault without it', async () => {
    const config = `backends:\n  - type: phoenix\n    endpoint: ${scene.phoenix.url}\n    api_key_env: PHOENIX_KEY\n`
    writeFileSync(join(program.home, 'config.yaml'), config)
    const right = await doctor(apiKey)
    expect(right.stdout).toMatch(/ {2}ok {4}phoenix .*: delivered and read back in /)
    expect(right.code).toBe(0)
    const wrong = await doctor('wrong-key')
    expect(wrong.code).toBe(1)
    expect(wrong.stdout).toMatch(/ {2}fail {2}phoenix: \S+ answered 401: it refuses the credentials/)
    expect(wrong.stdout).not.toContain('wrong-key')
  })
})
