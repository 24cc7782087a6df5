/** What a host hands in, and what its machine lacks, ends no host. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Meter, TracerProvider } from '@opentelemetry/api'
import { createNoopMeter } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { describe, expect, test, vi } from 'vitest'
import { createPlugin, type PluginOptions } from '../../src/index.ts'
import { runHost } from './child-host.ts'
import { scratchHome, scratchPlugin, tellTurn } from './scratch-plugin.ts'

function boom(): never {
  throw new Error('words of the user')
}

function spansKept(): { tracerProvider: BasicTracerProvider; names: () => string[] } {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  return { tracerProvider, names: () => exporter.getFinishedSpans().map(span => span.name) }
}

describe('a provider', () => {
  test.each([
    ['getTracer throws', { tracerProvider: { getTracer: boom } }, 'tracerProvider: its getTracer failed'],
    ['getMeter throws', { meterProvider: { getMeter: boom } }, 'meterProvider: its getMeter failed'],
    [
      'getTracer gives nothing',
      { tracerProvider: { getTracer: () => undefined } },
      'tracerProvider: expected a provider',
    ],
    ['getMeter gives nothing', { meterProvider: { getMeter: () => null } }, 'meterProvider: expected a provider'],
    ['the meter makes nothing', { meterProvider: { getMeter: () => ({}) } }, 'meterProvider: its meter makes no'],
    [
      'a getter throws',
      { tracerProvider: Object.defineProperty({}, 'getTracer', { get: boom }) },
      'its getTracer failed',
    ],
  ])('is reported in one line, and the host continues: %s', async (_, options, line) => {
    const { plugin, lines } = scratchPlugin(options as unknown as PluginOptions)
    expect(() => void tellTurn(plugin)).not.toThrow()
    await plugin.flush()
    await plugin.shutdown()
    expect(lines).toEqual([expect.stringContaining(line)])
    expect(lines.join()).not.toContain('words of the user')
  })

  test('loses no spans if the one of metrics fails', async () => {
    const { tracerProvider, names } = spansKept()
    const meter = { ...createNoopMeter(), createCounter: boom, createHistogram: boom } as unknown as Meter
    for (const getMeter of [boom, () => meter]) {
      const { plugin } = scratchPlugin({ tracerProvider, meterProvider: { getMeter } })
      await tellTurn(plugin)
      await plugin.shutdown()
    }
    expect(names()).toHaveLength(6)
  })
})

test('records nothing, with one line, if options throw when read', () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const odd = new Proxy({}, { get: boom, ownKeys: boom }) as unknown as PluginOptions
  const plugin = createPlugin(odd)
  const lines = write.mock.calls.map(([line]) => String(line))
  write.mockRestore()
  expect(plugin.on('on_session_start', { session_id: 's1' })).toBeUndefined()
  expect(lines).toEqual(['hookspan: nothing is recorded, because it could not be started: Error\n'])
})

test('harms nothing if its flush throws or rejects', async () => {
  const flushes = [boom, () => Promise.reject(new Error('late'))]
  for (const forceFlush of flushes) {
    const { tracerProvider } = spansKept()
    const handed = { getTracer: (name: string) => tracerProvider.getTracer(name), forceFlush }
    const { plugin } = scratchPlugin({ tracerProvider: handed as unknown as TracerProvider })
    await expect(tellTurn(plugin)).resolves.toBeUndefined()
  }
})

describe('in a process of its own', () => {
  const env = () => ({ HOME: scratchHome() })

  test.concurrent('does not affect the host if an asynchronous logger rejects, or is no promise', async () => {
    const ended = await runHost(
      `const methods = [async () => { throw new Error('gone') }, () => ({ then: (_, no) => no(new Error('gone')) }),
         () => ({ get then() { throw new Error('gone') } })]
       for (const say of methods) await createPlugin({ sample_rate: 7, logger: { warn: say, error: say } }).shutdown()
       await new Promise(setImmediate)
       console.log('alive')`,
      env(),
    )
    expect(ended).toMatchObject({ code: 0, stdout: 'alive\n', stderr: '' })
  })

  test.concurrent('continues with one line when no file can be opened', async () => {
    const ended = await runHost(
      `import { openSync, closeSync } from 'node:fs'
       process.stdout.write(''), process.stderr.write('')
       const held = []
       try { for (;;) held.push(openSync('/dev/null', 'r')) } catch {}
       const plugin = createPlugin({ backends: ['jaeger=http://127.0.0.1:1'] })
       plugin.on('on_session_start', { session_id: 's1' })
       plugin.on('on_session_end', { session_id: 's1', completed: true })
       plugin.stats()
       for (const file of held) closeSync(file)
       await plugin.shutdown()
       console.log('alive')`,
      env(),
    )
    expect(ended).toMatchObject({ code: 0, stdout: 'alive\n' })
    expect(ended.stderr.trim().split('\n')).toEqual([expect.stringMatching(/^hookspan: .*EMFILE/)])
  })

  test.concurrent('loses nothing when no file can be opened for a moment', async () => {
    const ended = await runHost(
      `import { openSync, closeSync } from 'node:fs'
       const held = []
       try { for (;;) held.push(openSync('/dev/null', 'r')) } catch {}
       const plugin = createPlugin({ local_log: false })
       plugin.on('on_session_start', { session_id: 's1' })
       for (const file of held) closeSync(file)
       await new Promise(setImmediate)
       console.log(plugin.stats().spansOpen)
       process.exit()`,
      env(),
    )
    expect(ended).toMatchObject({ code: 0, stdout: '1\n', stderr: '' })
  })

  const SIGNAL = `const plugin = createPlugin({ handle_signals: true })
    plugin.on('on_session_start', { session_id: 's1' })
    const keep = setInterval(() => {}, 1000)
    let heard = 0
    const raise = () => process.kill(process.pid, 'SIGINT')
    const nextTurn = () => new Promise(setImmediate)\n`

  test.concurrent.each([
    ['on', 'process.on'],
    ['once', 'process.once'],
  ])("leaves a signal to the host's own handler (%s), once", async (_, listen) => {
    const ended = await runHost(
      `${SIGNAL}${listen}('SIGINT', () => { heard += 1 })
       raise()
       while (heard === 0) await nextTurn()
       const { spansOpen } = plugin.stats()
       // Whoever raised it again would do so behind this.
       await plugin.shutdown()
       await nextTurn()
       await nextTurn()
       console.log(heard, spansOpen)
       clearInterval(keep)`,
      env(),
    )
    expect(ended).toMatchObject({ code: 0, signal: null, stdout: '1 1\n' })
  })

  test.concurrent('ends the process at the signal after our flush without a handler', async () => {
    const home = scratchHome()
    expect(await runHost(`${SIGNAL}raise()`, { HOME: home })).toMatchObject({ signal: 'SIGINT' })
    const traces = join(home, '.local', 'state', 'hookspan', 'traces')
    const [segment = ''] = readdirSync(traces)
    expect(readFileSync(join(traces, segment), 'utf8')).toMatch(/"resourceSpans".*"name":"agent"/)
  })
})
