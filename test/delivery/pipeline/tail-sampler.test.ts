/** Which spans go on, and when, whatever the order in which spans of many traces begin and end. */
import { ROOT_CONTEXT } from '@opentelemetry/api'
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { describe, expect, test } from 'vitest'
import { directProcessor, newSpanFilter } from '../../../src/delivery/pipeline/span-processors.ts'
import { TailSampler } from '../../../src/delivery/pipeline/tail-sampler.ts'
import { type Batch, estimatedBytes, spansOf } from '../../../src/delivery/trace-log/index.ts'
import fc from '../../support/fast-check.ts'

const REASON = 'x.sampling.reason'
const PLENTY = 1e9

/** What is told of a span: its trace and number, and at its end what it says of its trace. */
interface Told {
  readonly trace: number
  readonly span: number
  readonly reason?: string | undefined
}

function spanOf({ trace, span, reason }: Told, traceState?: object): ReadableSpan & Span {
  const context = { traceId: `${trace}`.padStart(32, '0'), spanId: `${span}`.padStart(16, '0'), traceFlags: 1 }
  const attributes = reason === undefined ? {} : { [REASON]: reason }
  const fields = { name: `${trace}.${span}`, status: { code: 0 }, attributes, events: [], links: [] }
  return { ...fields, spanContext: () => ({ ...context, ...(traceState && { traceState }) }) } as never
}

interface Watched {
  readonly holder: TailSampler
  /** Names of what has gone on, in order. */
  readonly sent: string[]
  readonly states: (string | undefined)[]
  begin(...of: readonly Told[]): void
  end(...of: readonly Told[]): void
}

function watched(maxBytes: number = PLENTY, threshold?: string): Watched {
  const sent: string[] = []
  const states: (string | undefined)[] = []
  const next = {
    onEnd(span: ReadableSpan) {
      sent.push(span.name)
      states.push(span.spanContext().traceState?.serialize())
    },
  } as unknown as SpanProcessor
  const holder = new TailSampler(next, { reasonName: REASON, threshold, maxBytes })
  return {
    holder,
    sent,
    states,
    begin(...of) {
      for (const told of of) holder.onStart(spanOf(told))
    },
    end(...of) {
      for (const told of of) holder.onEnd(spanOf(told))
    },
  }
}

const [ROOT, CHILD, LATER] = [
  { trace: 1, span: 0 },
  { trace: 1, span: 1 },
  { trace: 1, span: 2 },
]

describe('a trace', () => {
  test('waits for its root, and is sent in the order of ends', () => {
    const { begin, end, sent } = watched()
    begin(ROOT, CHILD)
    end(CHILD)
    expect(sent).toEqual([])
    end({ ...ROOT, reason: 'error' })
    expect(sent).toEqual(['1.1', '1.0'])
  })

  test('waits for its open spans if it is not kept, because they may be', () => {
    const { begin, end, sent } = watched()
    begin(ROOT, CHILD)
    end({ ...ROOT, reason: 'none' })
    expect(sent).toEqual([])
    end({ ...CHILD, reason: 'slow' })
    expect(sent).toEqual(['1.0', '1.1'])
  })

  test('is dropped with its late spans if it is not kept', () => {
    const { begin, end, sent } = watched()
    begin(ROOT)
    end({ ...ROOT, reason: 'none' })
    begin(CHILD)
    end(CHILD)
    expect(sent).toEqual([])
  })

  test('is sent without a decision when no span is open', () => {
    const { begin, end, sent } = watched()
    begin(ROOT, CHILD)
    end(CHILD)
    expect(sent).toEqual([])
    end(ROOT)
    expect(sent).toEqual(['1.1', '1.0'])
  })

  test('is sampled turn by turn if it has several', () => {
    const { begin, end, sent } = watched()
    for (const [span, reason] of ['none', 'error', 'none'].entries()) {
      begin({ trace: 1, span })
      end({ trace: 1, span, reason })
    }
    expect(sent).toEqual(['1.1'])
  })

  test('is ignored if it is not sampled', () => {
    const { holder, sent } = watched()
    const span = spanOf(ROOT)
    const unsampled = { ...span, spanContext: () => ({ ...span.spanContext(), traceFlags: 0 }) } as typeof span
    holder.onStart(unsampled)
    holder.onEnd(unsampled)
    expect(sent).toEqual([])
  })

  test('is sent, decided or not, when the process ends without a log', () => {
    const { holder, begin, end, sent } = watched()
    begin(ROOT, CHILD)
    end(CHILD)
    holder.releaseUndecided()
    expect(sent).toEqual(['1.1'])
  })

  test('does not go at that end when its only turn was not worth it, though a child agent was at work', () => {
    const { holder, begin, end, sent } = watched()
    begin(ROOT, CHILD)
    end({ ...ROOT, reason: 'none' })
    holder.releaseUndecided()
    expect(sent).toEqual([])
  })

  test('is sent at that end while another, undecided turn in it is open', () => {
    const { holder, begin, end, sent } = watched()
    holder.decideEarly = () => 'none'
    begin(ROOT, CHILD)
    end({ ...ROOT, reason: 'none' })
    holder.releaseUndecided()
    expect(sent).toEqual(['1.0'])
  })
})

describe('spans that a process reads again of a predecessor without a log', () => {
  /** As the holder is where it does: `isReading` until all has been read. */
  function readingAgain() {
    const reading = { isReading: true }
    const sent: string[] = []
    const take = ({ lines }: Batch): void => void sent.push(...spansOf(lines).map(({ name }) => name))
    const fanOut = directProcessor([{ enqueueBatch: take }], () => reading.isReading)
    const holder = new TailSampler(fanOut, { reasonName: REASON, threshold: undefined, maxBytes: PLENTY })
    const first = newSpanFilter(holder, () => false)
    for (const told of [ROOT, CHILD, LATER]) first.onStart(spanOf(told), ROOT_CONTEXT)
    return { sent, holder, reading, end: (told: Told): void => first.onEnd(spanOf(told)) }
  }

  test.each([
    ['none', []],
    ['error', ['1.1', '1.2', '1.0']],
  ])('is decided with later spans: %s', (reason, expected) => {
    const { sent, holder, reading, end } = readingAgain()
    end(CHILD)
    reading.isReading = false
    end(LATER)
    end({ ...ROOT, reason })
    holder.releaseUndecided()
    expect(sent).toEqual(expected)
  })

  test('was sent at its decision, and later spans are sent', () => {
    const { sent, reading, end } = readingAgain()
    end(CHILD)
    end({ ...ROOT, reason: 'error' })
    reading.isReading = false
    end(LATER)
    expect(sent).toEqual(['1.2'])
  })

  test('was dropped at its decision, as are later spans', () => {
    const { sent, reading, end } = readingAgain()
    end({ ...ROOT, reason: 'none' })
    end(CHILD)
    reading.isReading = false
    end(LATER)
    expect(sent).toEqual([])
  })
})

describe('tracestate', () => {
  const state = (text: string) => {
    const entries = new Map(text === '' ? [] : text.split(',').map(entry => entry.split('=') as [string, string]))
    const of = (map: Map<string, string>): object => ({
      get: (key: string) => map.get(key),
      set: (key: string, value: string) => of(new Map([[key, value], ...[...map].filter(([other]) => other !== key)])),
      serialize: () => [...map].map(entry => entry.join('=')).join(','),
    })
    return of(entries)
  }

  test.each([
    ['rate', '', 'ot=th:8'],
    ['error', '', 'ot=th:0'],
    ['rate', 'acme=1', 'ot=th:8,acme=1'],
    ['rate', 'acme=1,ot=rv:6e6d1a75832a2f', 'ot=th:8;rv:6e6d1a75832a2f,acme=1'],
    ['error', 'ot=th:c', 'ot=th:c'],
    ['rate', 'ot=th:4;rv:1', 'ot=th:8;rv:1'],
  ])('is set for a trace kept for %s, with %j from the caller', (reason, told, expected) => {
    const { holder, states } = watched(PLENTY, '80000000000000')
    holder.onStart(spanOf(ROOT))
    holder.onEnd(spanOf({ ...ROOT, reason }, state(told)))
    expect(states).toEqual([expected])
  })
})

describe('a full buffer', () => {
  const fill = (trace: number, spans: number): Told[] => Array.from({ length: spans }, (_, span) => ({ trace, span }))
  const ONE = estimatedBytes(spanOf(ROOT))

  test('decides the largest trace by its known state, and treats its later spans alike', () => {
    const { holder, begin, end, sent } = watched(4 * ONE)
    const asked: string[] = []
    holder.decideEarly = traceId => {
      asked.push(String(Number(traceId)))
      return traceId.endsWith('1') ? 'none' : 'cost'
    }
    begin(...fill(1, 4), ...fill(2, 3), ...fill(3, 6))
    end(...fill(1, 3), ...fill(2, 2))
    expect([asked, sent]).toEqual([['1'], []])
    end({ trace: 1, span: 3, reason: 'none' }, ...fill(3, 5))
    expect([asked, sent]).toEqual([['1', '3'], ['3.0', '3.1', '3.2', '3.3', '3.4'].slice(0, sent.length)])
    expect(sent.length).toBe(5)
  })

  test('sends a trace without any decision', () => {
    const { begin, end, sent } = watched(2 * ONE)
    begin(...fill(1, 4))
    end(...fill(1, 3))
    expect(sent).toEqual(['1.0', '1.1', '1.2'])
  })

  test('drops a trace whose ended turn is not kept, though a child agent is running', () => {
    const { begin, end, sent } = watched(3 * ONE)
    begin(...fill(1, 6))
    end({ trace: 1, span: 0, reason: 'none' }, ...fill(1, 5).slice(1))
    expect(sent).toEqual([])
    end({ trace: 1, span: 5 })
    expect(sent).toEqual([])
  })

  test('drops late spans of a dropped trace', () => {
    const { begin, end, sent } = watched(2 * ONE)
    begin(ROOT)
    end({ ...ROOT, reason: 'none' })
    begin(...fill(1, 5).slice(1))
    end(...fill(1, 5).slice(1))
    expect(sent).toEqual([])
  })

  test('sends the later spans of a dropped trace once a turn of it is kept', () => {
    const { holder, begin, end, sent } = watched(2 * ONE)
    holder.decideEarly = () => 'none'
    begin(...fill(1, 6))
    end(...fill(1, 3))
    expect(sent).toEqual([])
    end({ trace: 1, span: 3, reason: 'error' }, { trace: 1, span: 4, reason: 'none' }, { trace: 1, span: 5 })
    expect(sent).toEqual(['1.3', '1.4', '1.5'])
  })
})

test('sends a trace whole and once, or not at all, in any order', () => {
  const traces = fc.array(
    fc.record({
      spans: fc.integer({ min: 1, max: 5 }),
      reason: fc.constantFrom('error', 'rate', 'none', undefined),
      /** Which of its spans is the root. */
      root: fc.nat(4),
    }),
    { minLength: 1, maxLength: 5 },
  )
  const plan = traces.chain(given => {
    const steps = given.flatMap(({ spans }, trace) =>
      Array.from({ length: spans * 2 }, (_, step) => ({ trace, span: step >> 1 })),
    )
    return fc.tuple(fc.constant(given), fc.shuffledSubarray(steps, { minLength: steps.length }))
  })
  fc.assert(
    fc.property(plan, ([given, steps]) => {
      const { begin, end, sent } = watched()
      const begun = new Set<string>()
      // A trace is one piece: all of it begins before any of it ends, so that it is over but once.
      for (const { trace, span } of steps) {
        const key = `${trace}.${span}`
        if (!begun.has(key)) begin({ trace, span })
        begun.add(key)
      }
      const ended = new Set<string>()
      for (const { trace, span } of steps) {
        const key = `${trace}.${span}`
        const { reason, root, spans } = given[trace]!
        if (!ended.has(key)) end({ trace, span, reason: root % spans === span ? reason : undefined })
        ended.add(key)
      }
      const expected = given.flatMap(({ reason, spans }, trace) =>
        reason === 'none' ? [] : Array.from({ length: spans }, (_, span) => `${trace}.${span}`),
      )
      expect([...sent].sort()).toEqual(expected.sort())
    }),
  )
})
