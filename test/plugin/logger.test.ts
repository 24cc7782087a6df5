import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { DiagLogLevel, diag } from '@opentelemetry/api'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createPlugin, type PluginOptions } from '../../src/index.ts'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { scratchHome } from './scratch-plugin.ts'

const WRONG = { local_log: false, prometheus: false, sample_rate: 7 } as const
const SAID = /^hookspan: config: sample_rate: .* got 7 /

/** As pino and winston have it: the methods need the logger that they belong to. */
class AppLogger {
  readonly lines: string[] = []
  warn(line: string): void {
    this.#write('warn', line)
  }
  error(line: string): void {
    this.#write('error', line)
  }
  debug(line: string): void {
    this.#write('debug', line)
  }
  #write(level: string, line: string): void {
    this.lines.push(`${level} ${line}`)
  }
}

async function onStderr(options: unknown): Promise<string[]> {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const plugin = createPlugin(options as PluginOptions)
  const written = write.mock.calls.map(([line]) => String(line))
  write.mockRestore()
  await plugin.shutdown()
  return written
}

afterEach(() => diag.disable())

test('does not end the process at a line on a closed stderr', async () => {
  const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error('nobody reads it')) })
  const stderr = vi.spyOn(process, 'stderr', 'get').mockReturnValue(broken as unknown as typeof process.stderr)
  const plugin = createPlugin(WRONG as PluginOptions)
  stderr.mockRestore()
  // Without a listener the error would be one that nobody catches.
  await new Promise(resolve => broken.once('close', resolve))
  await new Promise(setImmediate)
  expect(broken.listenerCount('error')).toBe(0)
  await plugin.shutdown()
})

describe('lines for the user', () => {
  test('passes them to a logger whose methods need this', async () => {
    const logger = new AppLogger()
    expect(await onStderr({ ...WRONG, logger })).toEqual([])
    expect(logger.lines).toEqual([expect.stringMatching(/^warn hookspan: config: sample_rate: .* got 7 /)])
  })

  test('passes them to the console', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue(undefined)
    expect(await onStderr({ ...WRONG, logger: console })).toEqual([])
    expect(warn.mock.calls).toEqual([[expect.stringMatching(SAID)]])
    warn.mockRestore()
  })

  test('passes the diagnostics of OpenTelemetry, too', async () => {
    const warn = vi.fn()
    const nothing = (): void => undefined
    diag.setLogger(
      { warn, error: nothing, info: nothing, debug: nothing, verbose: nothing },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    )
    expect(await onStderr({ ...WRONG, logger: diag })).toEqual([])
    expect(warn.mock.calls).toEqual([[expect.stringMatching(SAID)]])
  })

  test('passes an error as an error', async () => {
    const logger = new AppLogger()
    const broken = Object.defineProperty({ logger }, 'host', {
      enumerable: true,
      get: () => {
        throw new TypeError('boom')
      },
    })
    expect(await onStderr(broken)).toEqual([])
    expect(logger.lines).toEqual([expect.stringMatching(/^error hookspan: nothing is recorded/)])
  })

  test('passes debug lines as well as writing them to their file, if that is on', async () => {
    const home = scratchHome()
    const logger = new AppLogger()
    const options: PluginOptions = {
      debug: true,
      prometheus: false,
      logger,
      backends: [{ type: 'otlp', endpoint: 'http://127.0.0.1:1' }],
    }
    const plugin = createPluginIn(options, { env: {}, home, isReplay: false })
    plugin.emit('pre_llm_call', { session_id: 's1' })
    plugin.emit('on_session_end', { session_id: 's1', completed: true })
    await plugin.shutdown()
    const file = readFileSync(join(home, '.local/state/hookspan/debug.log'), 'utf8')
    const debug = logger.lines.filter(line => line.startsWith('debug hookspan: '))
    expect(debug.length).toBeGreaterThan(0)
    for (const line of debug) expect(file).toContain(line.slice('debug hookspan: '.length))
  })
})

describe('a logger that fails', () => {
  const fails = (): never => {
    throw new Error('the screen is gone')
  }

  test.each([
    ['throws', { warn: fails, error: fails }],
    ['rejects', { warn: () => Promise.reject(new Error('gone')), error: fails }],
  ])('is ignored if it %s', async (_, logger) => {
    expect(await onStderr({ ...WRONG, logger })).toEqual([])
  })

  test.each<[string, unknown]>([
    ['a function', () => undefined],
    ['a name', 'console'],
    ['without warn', { error: fails }],
    ['unreadable', new Proxy({}, { get: fails })],
  ])('is reported in one line on stderr if unusable (%s), and the others follow there', async (_, logger) => {
    expect(await onStderr({ ...WRONG, logger })).toEqual([
      'hookspan: logger: expected an object with the methods error and warn; lines go to stderr\n',
      expect.stringMatching(SAID),
    ])
  })
})
