import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Plugin } from '../../../src/index.ts'
import type { UserBackend } from '../../../src/plugin/config/types.ts'
import { createPluginIn } from '../../../src/plugin/create-plugin.ts'
import { yaml } from '../../observability/stack-files.ts'
import { OtlpSink, type SinkBehaviour } from '../../support/otlp-sink.ts'
import { type PrometheusServer, startPrometheus } from '../servers/prometheus.ts'
import { hurriedRules } from './hurried-rules.ts'
import { SCENES, type Scene } from './scenes.ts'

const DEADLINE_MILLIS = 120_000
const ROUND_MILLIS = 400

let home: string
let prometheus: PrometheusServer
const sinks: OtlpSink[] = []
const agents: { readonly scene: Scene; readonly plugin: Plugin }[] = []

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-alerts-'))
  const rules = join(home, 'rules.yml')
  writeFileSync(rules, hurriedRules())
  prometheus = await startPrometheus({ rules })
  for (const scene of SCENES) agents.push({ scene, plugin: await agent(scene) })
})

afterAll(async () => {
  await Promise.all(agents.map(({ plugin }) => plugin.shutdown()))
  await prometheus?.stop()
  await Promise.all(sinks.map(sink => sink.stop()))
  rmSync(home, { recursive: true, force: true })
})

async function agent({ host, options, answer }: Scene): Promise<Plugin> {
  const metrics: UserBackend = { type: 'otlp', name: 'metrics', endpoint: prometheus.otlpUrl, traces: false }
  const traces = answer === undefined ? [] : [await tracesTo(answer)]
  const config = { host, metrics_interval_ms: 1000, force_flush_wait_ms: 500, ...options }
  return createPluginIn(
    { ...config, backends: [metrics, ...traces], logger: { error: () => undefined, warn: () => undefined } },
    { env: {}, home: join(home, host), isReplay: false },
  )
}

async function tracesTo(answer: SinkBehaviour): Promise<UserBackend> {
  const sink = await OtlpSink.start(answer)
  sinks.push(sink)
  return { type: 'otlp', name: 'traces', endpoint: sink.url, metrics: false, protocol: 'http/json' }
}

async function firing(): Promise<string[]> {
  const alerts = await prometheus.query('ALERTS{alertstate="firing"}')
  return alerts.map(({ metric }) => `${metric['job']}: ${metric['alertname']}`)
}

test('fires every alert for the agent that it is about, and for no other', async () => {
  const wanted = SCENES.flatMap(({ host, alerts }) => alerts.map(alert => `${host}: ${alert}`)).toSorted()
  const seen = new Set<string>()
  const deadlineAt = Date.now() + DEADLINE_MILLIS
  for (const { scene, plugin } of agents) scene.begin?.(plugin)
  for (let round = 0; seen.size < wanted.length && Date.now() < deadlineAt; round++) {
    for (const { scene, plugin } of agents) scene.go?.(plugin, round)
    await sleep(ROUND_MILLIS)
    for (const alert of await firing()) seen.add(alert)
  }
  expect([...seen].toSorted()).toEqual(wanted)
})

test('has an agent for every alert, and evaluates every rule', async () => {
  const rules = yaml<{ groups: { rules: { alert: string }[] }[] }>('observability/rules.yml')
  const names = rules.groups.flatMap(group => group.rules.map(({ alert }) => alert))
  expect(SCENES.flatMap(({ alerts }) => alerts).toSorted()).toEqual(names.toSorted())
  const evaluated = await prometheus.rules()
  const told = evaluated.map(({ name, health, lastError = '' }) => `${name} ${health} ${lastError}`.trim())
  expect(told.toSorted()).toEqual(names.map(name => `${name} ok`).toSorted())
})
