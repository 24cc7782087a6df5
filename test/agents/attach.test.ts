import { describe, expect, test, vi } from 'vitest'
import { attachHost } from '../../src/agents/attach.ts'
import { type HostEvent, type HostMachine, hookRecord } from '../../src/agents/host-event.ts'
import type { PluginOptions } from '../../src/index.ts'
import { ENDINGS, freshHostsEachTest } from './fresh-hosts.ts'

const TAP = Symbol.for('hookspan.tap')

type Shared = Record<symbol, unknown>

/** Says a turn a `turn` event; breaks on `broken`. */
function createMachine(): HostMachine {
  return {
    accept({ event, at = 0, data }) {
      if (event === 'broken') throw new TypeError('somebody said: my secret')
      if (event !== 'turn') return undefined
      const ids = { session_id: 's1', turn_id: String(data) }
      return [hookRecord('pre_llm_call', at, ids), hookRecord('on_session_end', at, { ...ids, completed: true })]
    },
    isQuiet: event => event === 'quiet',
    end: at => [hookRecord('on_session_start', at, { session_id: 's2' })],
  }
}

const OPTIONS: PluginOptions = { local_log: false, prometheus: false }
const turn = (data: string): HostEvent => ({ event: 'turn', at: 1_795_000_000_000, data })

freshHostsEachTest()

function linesOf(attachment: ReturnType<typeof attachHost>): string[] {
  const lines: string[] = []
  attachment.reportTo(line => lines.push(line))
  return lines
}

describe('an event without data', () => {
  test('is neither built nor counted as ignored', () => {
    const accept = vi.fn(() => undefined)
    const attachment = attachHost('pi', () => ({ ...createMachine(), accept }), OPTIONS)
    attachment.handleEvent({ event: 'quiet' })
    expect(accept).not.toHaveBeenCalled()
    expect(attachment.plugin.stats().hooks.ignored).toBe(0)
    attachment.handleEvent({ event: 'new' })
    expect(attachment.plugin.stats().hooks.ignored).toBe(1)
  })

  test('is passed to the tap', () => {
    const seen: string[] = []
    ;(globalThis as Shared)[TAP] = (_: string, { event }: HostEvent) => seen.push(event)
    attachHost('pi', createMachine, OPTIONS).handleEvent({ event: 'quiet' })
    expect(seen).toEqual(['quiet'])
  })
})

describe('a host that loads us several times', () => {
  test('shares one plugin', () => {
    const [first, second] = [1, 2].map(() => attachHost('pi', createMachine, OPTIONS))
    expect(second?.plugin).toBe(first?.plugin)
    expect(attachHost('opencode', createMachine, OPTIONS).plugin).not.toBe(first?.plugin)
  })

  test('records events that arrive twice once', () => {
    const [first, second] = [1, 2].map(() => attachHost('pi', createMachine, OPTIONS))
    for (const id of ['t1', 't2', 't3']) for (const each of [first, second]) each?.handleEvent(turn(id), 's1')
    // The first event is told before the newer attachment is known to hear of the session, too.
    expect(first?.plugin.stats().hooks).toEqual({ ok: 6, duplicate: 2, ignored: 0, error: 0 })
  })

  test('records the events of the newest attachment after a reload', () => {
    const first = attachHost('pi', createMachine, OPTIONS)
    first.handleEvent(turn('t1'), 's1')
    const second = attachHost('pi', createMachine, OPTIONS)
    second.handleEvent(turn('t2'), 's1')
    expect(first.plugin.stats().hooks.ok).toBe(4)
  })

  test('records sessions of several attachments', () => {
    const [first, second] = [1, 2].map(() => attachHost('pi', createMachine, OPTIONS))
    second?.handleEvent(turn('t1'), 's2')
    first?.handleEvent(turn('t2'), 's1')
    expect(first?.plugin.stats().hooks.ok).toBe(4)
  })
})

describe('failures', () => {
  test('is reported once for each kind of event, without content, and counted', () => {
    const attachment = attachHost('pi', createMachine, OPTIONS)
    const lines = linesOf(attachment)
    for (const _ of [1, 2]) attachment.handleEvent({ event: 'broken' })
    expect(attachment.catchErrors(() => JSON.parse('{'))).toBeUndefined()
    expect(attachment.plugin.stats().hooks.ignored).toBe(3)
    expect(lines).toEqual([
      'hookspan: pi: broken could not be read (a TypeError); the trace lacks it',
      'hookspan: pi: a callback could not be read (a SyntaxError); the trace lacks it',
    ])
  })

  test('counts an unknown event', () => {
    const attachment = attachHost('pi', createMachine, OPTIONS)
    attachment.handleEvent({ event: 'of_next_year' })
    expect(attachment.plugin.stats().hooks).toMatchObject({ ok: 0, ignored: 1 })
  })

  test('is written to stderr after the first event', () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const attachment = attachHost('pi', createMachine, { ...OPTIONS, sample_rate: 7 })
    const before = write.mock.calls.length
    attachment.handleEvent(turn('t1'))
    const said = write.mock.calls.map(([line]) => line)
    write.mockRestore()
    expect(before).toBe(0)
    expect(said).toEqual([expect.stringMatching(/^hookspan: config: sample_rate: .*\n$/)])
  })

  test('is written to the host’s sink, including earlier lines', () => {
    const attachment = attachHost('pi', createMachine, { ...OPTIONS, sample_rate: 7 })
    expect(linesOf(attachment)).toEqual([expect.stringMatching(/^hookspan: config: sample_rate: /)])
  })
})

test.each(ENDINGS)('emits delayed events when the process ends: %s', event => {
  const before = new Set<unknown>(process.listeners(event as 'exit'))
  const { plugin } = attachHost('pi', createMachine, OPTIONS)
  const [first] = process.listeners(event as 'exit')
  expect(before.has(first)).toBe(false)
  first?.(0)
  first?.(0)
  expect(plugin.stats().hooks).toEqual({ ok: 1, ignored: 0, duplicate: 0, error: 0 })
})

test('passes every event to the tap', () => {
  const seen: unknown[] = []
  ;(globalThis as Shared)[TAP] = (host: string, event: HostEvent) => seen.push([host, event.event])
  attachHost('pi', createMachine, OPTIONS).handleEvent(turn('t1'))
  expect(seen).toEqual([['pi', 'turn']])
})
