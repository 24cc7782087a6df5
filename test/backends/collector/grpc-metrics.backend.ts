import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPluginIn } from '../../../src/plugin/create-plugin.ts'
import { OtlpSink } from '../../support/otlp-sink.ts'
import { type CollectorServer, startCollector } from '../servers/collector.ts'

let home: string
let store: OtlpSink
let collector: CollectorServer

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-collector-'))
  store = await OtlpSink.start()
  collector = await startCollector({ jaeger: store.url, phoenix: store.url })
})

afterAll(async () => {
  await collector?.stop()
  await store?.stop()
  rmSync(home, { recursive: true, force: true })
})

async function sampleOf(name: string): Promise<string | undefined> {
  const response = await fetch(`http://${collector.metricsAddress}/metrics`)
  const lines = (await response.text()).split('\n')
  return lines
    .find(line => line.startsWith(`${name}{`))
    ?.split(' ')
    .at(-1)
}

test('receives metrics over grpc', async () => {
  const lines: string[] = []
  const say = (line: string): void => void lines.push(line)
  const plugin = createPluginIn(
    { host: 'agent', backends: [{ type: 'otlp', endpoint: collector.grpcUrl, protocol: 'grpc' }] },
    { env: {}, home, isReplay: false, diagnostics: { warn: say, error: say, debug: () => undefined } },
  )
  const ids = { session_id: 's1', turn_id: 't1' }
  for (const id of ['c1', 'c2']) {
    plugin.on('pre_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: id })
    plugin.on('post_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: id, result: 'ok' })
  }
  await plugin.on('on_session_end', ids)
  await plugin.shutdown()
  expect(lines).toEqual([])
  // The Collector has batches of its own.
  await expect.poll(() => sampleOf('hermes_tool_calls_total'), { timeout: 20_000 }).toBe('2')
  await expect.poll(() => store.spanNames, { timeout: 20_000 }).toContain('tool.terminal')
})
