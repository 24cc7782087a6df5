import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { OtlpSink, type SinkBehaviour } from '../support/otlp-sink.ts'
import { Program } from './program.ts'

let program: Program
let sink: OtlpSink
beforeEach(async () => {
  program = new Program()
  sink = await OtlpSink.start()
})
afterEach(async () => {
  program.remove()
  await sink.stop()
})

describe('hookspan doctor', () => {
  test('reports no error', async () => {
    const { code, stdout, stderr } = await program.run(['doctor', '--backend', `otlp=${sink.url}`])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/\n {2}ok {4}otlp .*: delivered in .*\n/)
    expect(stdout).toMatch(/\n\nNo problems found, but no agent is set up: run .*\n$/)
    expect(sink.spanNames).toEqual(['hookspan.doctor'])
    expect(readdirSync(program.home)).toEqual([])
  })

  // The requests of the pipeline do not hold the process: the command must, until it has its answer.
  test.each<[string, SinkBehaviour, RegExp]>([
    ['never answers', { kind: 'hanging' }, / {2}fail {2}otlp: .* did not answer within 500 ms → /],
    ['is slow', { kind: 'slow', millis: 300 }, / {2}ok {4}otlp .*: delivered in .*, and so was a metric/],
    ['breaks the connection', { kind: 'reset' }, / {2}fail {2}otlp: .* closed the connection without an answer → /],
  ])('waits for a server that %s', async (_what, behaviour, expected) => {
    sink.behaviour = behaviour
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
      OTEL_EXPORTER_OTLP_TIMEOUT: behaviour.kind === 'hanging' ? '500' : '30000',
    }
    const { code, stdout, stderr } = await program.run(['doctor'], { env })
    expect({ code, stderr }).toEqual({ code: behaviour.kind === 'slow' ? 0 : 1, stderr: '' })
    expect(stdout).toMatch(expected)
  })

  test('prints nothing but JSON with --json', async () => {
    const args = ['doctor', '--json', '--backend', 'console', '--backend', `otlp=${sink.url}`]
    const { code, stdout, stderr } = await program.run(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout).backends).toMatchObject([{ delivered: null }, { delivered: true, metrics: true }])
  })

  test('is in the list of commands', async () => {
    expect((await program.run(['--help'])).stdout).toMatch(/\n {2}doctor +check that traces arrive/)
  })
})
