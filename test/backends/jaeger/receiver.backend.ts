import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { send } from '../../../src/cli/commands/send.ts'
import type { PluginOptions } from '../../../src/index.ts'
import { createPluginIn } from '../../../src/plugin/create-plugin.ts'
import { fakeIo } from '../../cli/fake-io.ts'
import { eventually } from '../support/eventually.ts'
import { Scene } from './scene.ts'

let scene: Scene

beforeEach(async () => {
  scene = await Scene.start()
})

afterEach(() => scene?.stop())

function post(path: string, contentType: string, body: string): Promise<Response> {
  const url = scene.jaeger.otlpUrl + path
  return fetch(url, { method: 'POST', headers: { 'content-type': contentType }, body })
}

/** A turn with so many tools, recorded by a plugin that sends to `endpoint`. */
async function recordTurn(endpoint: string, tools: number, options: PluginOptions = {}) {
  const warnings: string[] = []
  const diagnostics = { warn: say, error: say, debug: () => undefined }
  function say(line: string): void {
    warnings.push(line)
  }
  const config = { host: 'agent', backends: [{ type: 'jaeger', endpoint, ...(options as object) }] } as PluginOptions
  const plugin = createPluginIn(config, { env: {}, home: scene.home, isReplay: true, diagnostics })
  const at = Date.now() - 60_000
  const ids = { session_id: 's', turn_id: 't' }
  plugin.on('on_session_start', { ...ids, model: 'm' }, { at })
  for (let tool = 0; tool < tools; tool += 1) {
    const call = { ...ids, tool_name: 'terminal', tool_call_id: `c${tool}` }
    plugin.on('pre_tool_call', { ...call, args: { command: 'true' } }, { at: at + 1 + tool })
    plugin.on('post_tool_call', { ...call, result: 'done' }, { at: at + 2 + tool })
  }
  plugin.on('on_session_end', { ...ids, completed: true }, { at: at + 10 + tools })
  await plugin.shutdown()
  const { backends, traceFiles } = plugin.stats()
  return { warnings, sent: backends.find(({ name }) => name === 'jaeger'), log: traceFiles.map(readLog).join('') }
}

const readLog = (path: string): string => readFileSync(path, 'utf8')
const linesWithSpans = (log: string): string[] => log.split('\n').filter(line => line.includes('"resourceSpans"'))

test('shows a trace of a thousand spans whole', async () => {
  const { log, sent, warnings } = await recordTurn(scene.jaeger.otlpUrl, 999)
  expect(warnings).toEqual([])
  expect(sent).toMatchObject({ delivered: 1000, dropped: 0, retried: 0 })
  const [traceId = ''] = /(?<="traceId":")[0-9a-f]{32}/.exec(log) ?? []
  const spans = await eventually(
    () => scene.query.trace(traceId, { raw: true }),
    answer => answer.length >= 1000,
  )
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(1000)
  const [root, ...others] = spans.filter(({ parentSpanId }) => parentSpanId === undefined)
  expect(others).toEqual([])
  expect(spans.filter(({ parentSpanId }) => parentSpanId === root?.spanId)).toHaveLength(999)
})

test('stores a log twice that is sent again, and shows it once', async () => {
  const { log } = await recordTurn(scene.jaeger.otlpUrl, 3)
  const [traceId = ''] = /(?<="traceId":")[0-9a-f]{32}/.exec(log) ?? []
  await eventually(
    () => scene.query.trace(traceId, { raw: true }),
    spans => spans.length >= 4,
  )
  for (const line of linesWithSpans(log)) expect((await post('/v1/traces', 'application/json', line)).status).toBe(200)
  const stored = await eventually(
    () => scene.query.trace(traceId, { raw: true }),
    spans => spans.length >= 8,
  )
  expect(stored).toHaveLength(8)
  expect(await scene.query.trace(traceId)).toHaveLength(4)
  expect((await scene.query.pageTrace(traceId)).spans).toHaveLength(4)
})

describe('the API of Jaeger', () => {
  const line = JSON.stringify({ resourceSpans: [] })

  test('rejects another path, another method, another content type, an invalid body', async () => {
    expect((await post('/v1/trace', 'application/json', line)).status).toBe(404)
    expect((await post('/v1/metrics', 'application/json', '{"resourceMetrics":[]}')).status).toBe(404)
    expect((await fetch(`${scene.jaeger.otlpUrl}/v1/traces`)).status).toBe(405)
    expect((await post('/v1/traces', 'text/plain', line)).status).toBe(415)
    expect((await post('/v1/traces', 'application/x-protobuf', line)).status).toBe(400)
    expect((await post('/v1/traces', 'application/json', '{')).status).toBe(400)
  })

  test('names a wrong path in one line, and keeps the trace in the log', async () => {
    const endpoint = `${scene.jaeger.otlpUrl}/v1/nowhere`
    const { warnings, sent, log } = await recordTurn(endpoint, 1, { exact_endpoint: true } as PluginOptions)
    expect(sent).toMatchObject({ delivered: 0 })
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(`${endpoint}`)
    expect(warnings[0]).toContain('404')
    expect(linesWithSpans(log).length).toBeGreaterThan(0)
  })
})

test('has the kept one of two turns, and the other one once it is sent by hand', async () => {
  const backends = [{ type: 'jaeger', endpoint: scene.jaeger.otlpUrl }] as const
  const config: PluginOptions = { host: 'agent', backends, keep: { tools: ['deploy'] } }
  const plugin = createPluginIn(config, { env: {}, home: scene.home, isReplay: true })
  for (const tool_name of ['deploy', 'look']) {
    const call = { session_id: tool_name, turn_id: 't', tool_name, tool_call_id: 'c' }
    plugin.on('on_session_start', { ...call, model: 'm' }, { at: Date.now() - 60_000 })
    plugin.on('pre_tool_call', call, { at: Date.now() - 50_000 })
    plugin.on('post_tool_call', { ...call, status: 'ok' }, { at: Date.now() - 40_000 })
    plugin.on('on_session_end', { ...call, completed: true }, { at: Date.now() - 30_000 })
  }
  await plugin.shutdown()
  const log = plugin.stats().traceFiles.map(readLog).join('')
  const [kept = '', other = ''] = ['deploy', 'look'].map(tool => {
    const line = linesWithSpans(log).find(line => line.includes(`tool.${tool}`)) ?? ''
    return new RegExp(`(?<="traceId":")[0-9a-f]{32}(?="[^}]*"name":"tool.${tool}")`).exec(line)?.[0]
  })
  const spansOf = (traceId: string) => scene.query.trace(traceId, { raw: true })
  const found = await eventually(
    () => spansOf(kept),
    spans => spans.length >= 2,
  )
  expect(found.map(({ name }) => name).sort()).toEqual(['agent', 'tool.deploy'])
  expect(await spansOf(other)).toEqual([])
  const io = fakeIo({ home: scene.home, now: Date.now, env: {} })
  expect(await send.run([other, '--backend', `jaeger=${scene.jaeger.otlpUrl}`], io)).toBe(0)
  await eventually(
    () => spansOf(other),
    spans => spans.length >= 2,
  )
})
