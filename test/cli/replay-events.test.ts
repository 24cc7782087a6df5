import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MACHINES } from '../../src/agents/machines.ts'
import { FIXTURES } from '../agents/replay-fixture.ts'
import { ScratchReplay } from './scratch-replay.ts'

let scratch: ScratchReplay
beforeEach(() => {
  scratch = new ScratchReplay()
})
afterEach(() => scratch.remove())

const HOSTS = Object.keys(MACHINES)

function capture(host: string): { path: string; head: string; events: string } {
  const [name = ''] = readdirSync(join(FIXTURES, host)).filter(file => file.endsWith('.jsonl'))
  const path = join(FIXTURES, host, name)
  const [head = '', ...events] = readFileSync(path, 'utf8').trimEnd().split('\n')
  return { path, head, events: `${events.join('\n')}\n` }
}

const summaryOf = (spans: readonly { readonly name: string; readonly spanId: string }[]): string[] =>
  spans.map(({ name, spanId }) => `${name} ${spanId}`)

describe.each(HOSTS)('raw events of %s', host => {
  test('builds spans of that host: by the head line, or by --host', async () => {
    const { path, events } = capture(host)
    const spans = await scratch.spansOf([path])
    expect(spans.map(span => span.name)).toContain('agent')
    expect(new Set(spans.map(span => span.attributes['hermes.host']).filter(Boolean))).toEqual(new Set([host]))
    const named = await scratch.spansOf(['-', '--host', host], { stdin: [events] })
    expect(summaryOf(named)).toEqual(summaryOf(spans))
  })
})

describe('raw events', () => {
  test('accepts several hosts, one after the other', async () => {
    const text = HOSTS.map(host => readFileSync(capture(host).path, 'utf8')).join('')
    const spans = await scratch.spansOf(['-'], { stdin: [text] })
    const agents = spans.filter(span => span.parentSpanId === undefined)
    expect(new Set(agents.map(span => span.attributes['hermes.host']))).toEqual(new Set(HOSTS))
  })

  test('explains each line without a known host', async () => {
    const { events } = capture('pi')
    const { code, stderr } = await scratch.replay(['-'], { stdin: [events.split('\n')[0] as string] })
    expect(code).toBe(1)
    expect(stderr).toContain(`line 1: a raw event without a host; name it with --host (${HOSTS.join(', ')})`)
  })

  test('reports a host whose events cannot be read', async () => {
    const { events } = capture('pi')
    const { code, stderr } = await scratch.replay(['-', '--host', 'x'], { stdin: [events.split('\n')[0] as string] })
    expect(code).toBe(1)
    expect(stderr).toContain(
      `line 1: a raw event of "x", whose events are not supported; supported: ${HOSTS.join(', ')}; the line is skipped`,
    )
  })

  test('suggests the name of a misspelt host', async () => {
    const [event = ''] = capture('pi').events.split('\n')
    const { code, stderr } = await scratch.replay(['-', '--host', 'openclow'], { stdin: [event] })
    expect(code).toBe(1)
    expect(stderr).toContain('; did you mean openclaw?; the line is skipped')
  })
})
