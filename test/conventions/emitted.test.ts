/** Everything that recordings, a complete turn and nonsense can make us write, held against the conventions. */
import { describe, expect, test } from 'vitest'
import { GENERAL, METRIC, SCHEMA_URL } from '../../src/contract/semconv/index.ts'
import type { PluginOptions } from '../../src/index.ts'
import { SAMPLED, sample } from '../support/sample.ts'
import { EXCEPTIONS } from './exceptions.ts'
import { Lint, type SpanNames } from './lint.ts'
import { CAPTURED_RUNS, MADE_RUNS, RUNS } from './runs.ts'
import { record } from './telemetry.ts'

const EVERYTHING: PluginOptions = {
  keep: { hold: false },
  capture_sender_id: true,
  capture_conversation_history: true,
  project_name: 'project',
}

const used = new Set<string>()
const metrics = new Set<string>()
const attributes = new Set<string>()

/** Names of spans have nothing to do with what is captured: not every pair is needed. */
const SETTINGS = [
  ['off', 'hermes'],
  ['preview', 'semconv'],
  ['full', 'hermes'],
] as const satisfies readonly (readonly [string, SpanNames])[]

test.each(SETTINGS)(
  `emits only known names, content_capture: %s, span_names: %s, ${SAMPLED}`,
  async (content_capture, span_names) => {
    const lint = new Lint()
    const runs = content_capture === 'full' ? [...sample(CAPTURED_RUNS, 80), ...MADE_RUNS] : sample(RUNS, 15)
    for (const { host, tell } of runs) {
      const telemetry = await record({ ...EVERYTHING, host, content_capture, span_names }, tell)
      expect(telemetry.spans.length).toBeGreaterThan(0)
      expect(telemetry.schemas).toEqual([SCHEMA_URL])
      lint.telemetry(telemetry, span_names)
      for (const { name } of telemetry.metrics) metrics.add(name)
      for (const span of telemetry.spans) for (const { key } of span.attributes) attributes.add(key)
    }
    expect(lint.problems).toEqual([])
    for (const name of lint.exceptions) used.add(name)
  },
)

describe('the linted data', () => {
  test('has every instrument', () => {
    expect([...metrics].sort()).toEqual(
      Object.values(METRIC)
        .map(name => name.replace('{ns}', 'hermes'))
        .sort(),
    )
  })

  test('needs every exception', () => {
    expect(Object.keys(EXCEPTIONS).filter(name => !used.has(name))).toEqual([])
  })

  test('has attributes of every convention', () => {
    expect([...attributes]).toEqual(
      expect.arrayContaining([
        'hermes.turn.tool_count',
        'gen_ai.input.messages',
        'llm.input_messages.0.message.role',
        GENERAL.serverPort,
      ]),
    )
  })
})
