import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { send as sendCommand } from '../../src/cli/commands/send.ts'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { leaveHeld } from '../delivery/trace-log/held-segment.ts'
import { OtlpSink } from '../support/otlp-sink.ts'
import { fakeIo } from './fake-io.ts'

const { run } = sendCommand

let home: string
let sink: OtlpSink
let dead: string

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-send-'))
  sink = await OtlpSink.start()
  const gone = await OtlpSink.start()
  dead = gone.url
  await gone.stop()
})

afterEach(async () => {
  rmSync(home, { recursive: true, force: true })
  await sink.stop()
})

/** A turn of two spans that these backends are owed. */
async function recordTurn(backends: string, more: Readonly<Record<string, string>> = {}): Promise<void> {
  const diagnostics = { warn: () => undefined, error: () => undefined, debug: () => undefined }
  const env = { HOOKSPAN_BACKENDS: backends, HOOKSPAN_FORCE_FLUSH_WAIT_MS: '100', ...more }
  const plugin = createPluginIn({ host: 'agent' }, { env, home, isReplay: true, diagnostics })
  const ids = { session_id: 's', turn_id: 't' }
  plugin.on('pre_llm_call', { ...ids, model: 'm' })
  plugin.on('on_session_end', { ...ids, completed: true })
  await plugin.shutdown()
}

async function send(args: string[], backends?: string, more: Readonly<Record<string, string>> = {}) {
  const io = fakeIo({ home, env: { ...(backends !== undefined && { HOOKSPAN_BACKENDS: backends }), ...more } })
  const code = await run(args, io)
  return { code, ...io.written }
}

const state = (): string => join(home, '.local', 'state', 'hookspan')
const spool = (): string[] => readdirSync(join(state(), 'spool'))

/** Turns are held until it is known whether they are kept. */
const KEEP = { HOOKSPAN_KEEP: 'true' }

describe('hookspan send', () => {
  test('delivers the backlog, and nothing is left', async () => {
    await recordTurn(`jaeger=${dead}`)
    expect(spool()).toHaveLength(1)
    const sent = await send([], `jaeger=${sink.url}`)
    expect(sent).toEqual({ code: 0, stdout: 'jaeger got 2 spans; nothing is pending\n', stderr: '' })
    expect(sink.spanNames.sort()).toEqual(['agent', 'llm.m'])
    expect(spool()).toEqual([])
    expect((await send([], `jaeger=${sink.url}`)).stdout).toBe('jaeger got 0 spans; nothing is pending\n')
    expect(sink.spanNames).toHaveLength(2)
  })

  test('delivers the spans of a killed agent, and counts them', async () => {
    const backends = `jaeger=${sink.url}`
    await recordTurn(backends, KEEP)
    leaveHeld(state(), 'held', 'held, too')
    const sent = await send([], backends, KEEP)
    expect(sent).toEqual({ code: 0, stdout: 'jaeger got 2 spans; nothing is pending\n', stderr: '' })
    expect(sink.spanNames).toEqual(['held', 'held, too'])
    expect((await send([], backends, KEEP)).stdout).toBe('jaeger got 0 spans; nothing is pending\n')
    leaveHeld(state(), 'another', 'another, too')
    const { stdout } = await send(['--all'], backends, KEEP)
    expect(stdout).toMatch(/^jaeger got 2 spans that were pending\n/)
  })

  test('fails when a backend still rejects them, with the reason', async () => {
    await recordTurn(`jaeger=${dead}`)
    const { code, stdout, stderr } = await send([], `jaeger=${dead}`)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^jaeger got 0 spans; [\d.]+ KB are pending\n$/)
    expect(stderr).toMatch(/^hookspan: backend jaeger: nothing listens at .*\n$/)
    expect(spool()).toHaveLength(1)
  })

  test("sends one of several, and keeps the others' backlog", async () => {
    await recordTurn(`jaeger=${dead},phoenix=${dead}`)
    const { code, stdout } = await send(['--backend', 'jaeger'], `jaeger=${sink.url},phoenix=${sink.url}`)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^jaeger got 2 spans; .*\n.*KB are pending for phoenix, which is not selected or not configured\n$/,
    )
    expect(sink.spanNames).toHaveLength(2)
    expect((await send([], `jaeger=${sink.url},phoenix=${sink.url}`)).stdout).toMatch(/phoenix got 2 spans/)
    expect(spool()).toEqual([])
  })

  test("does not send another address's backlog to a backend of the command line", async () => {
    await recordTurn(`jaeger=${dead}`)
    const { code, stdout } = await send(['--backend', `jaeger=${sink.url}`])
    const name = `jaeger@${new URL(sink.url).host}`
    expect({ code, spans: sink.spanNames }).toEqual({ code: 0, spans: [] })
    expect(stdout).toContain(`${name} got 0 spans; nothing is pending\n`)
    expect(stdout).toMatch(/KB are pending for jaeger, which is not selected or not configured\n$/)
    const asMeant = await send(['--backend', `jaeger=${dead}`])
    expect(asMeant.stdout).toMatch(/^jaeger got 0 spans; [\d.]+ KB are pending\n$/)
  })

  test('reports that there is nothing to do', async () => {
    const nothing = 'no backend is configured, and nothing is pending\n'
    expect(await send([])).toEqual({ code: 0, stdout: nothing, stderr: '' })
  })

  test.each([
    [['--backend', 'jager'], /there is no backend "jager"; did you mean jaeger\?/],
    [['--backend', 'production'], /there is no backend "production"; configured: jaeger; any other is named TYPE=URL/],
    [['--backend', 'jaeger=nonsense'], /--backend jaeger: /],
    [['--backend', 'console'], /console is the terminal of an agent/],
    [['--since', 'yesterday'], /--since takes an age/],
    [['--all', 'file.jsonl'], /--all sends the trace log/],
    [['--sinc', '2h'], /unknown option --sinc. Did you mean --since\?/],
  ])('rejects %j', async (args, message) => {
    const { code, stderr } = await send(args, `jaeger=${sink.url}`)
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})
