import type { HrTime } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { describe, expect, test } from 'vitest'
import { ConsoleSpanSink } from '../../../src/delivery/pipeline/console-sink.ts'
import { endedSpan, headerJson, LineParser, type StoredLine } from '../../../src/delivery/trace-log/line-parser.ts'
import { SpanLine } from '../../../src/delivery/trace-log/span-line.ts'
import { requestProtobuf } from '../../../src/delivery/trace-log/span-protobuf.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { anySpans, anyText, lineOf, noteOf, officialJson, officialProtobuf, openSpans, spanWith } from './any-span.ts'

const MARKS = { incomplete: 'x.incomplete', finalStatus: 'x.final_status', spanKind: '' }

function spansIn(line: StoredLine): readonly ReadableSpan[] {
  if ('spans' in line) return line.spans
  throw new Error(`the line is ${JSON.stringify(line)}`)
}

function reread(spans: readonly ReadableSpan[], parser = new LineParser()): readonly ReadableSpan[] {
  return spansIn(parser.read(lineOf(spans)))
}

async function printed(spans: readonly ReadableSpan[]): Promise<string> {
  const lines: string[] = []
  const sink = new ConsoleSpanSink(text => lines.push(text))
  await sink.export([new SpanLine(spans)])
  await sink.close()
  return lines.join('')
}

describe('a span that is read back', () => {
  test('is the same to both serializers of OpenTelemetry', () => {
    fc.assert(
      fc.property(anySpans, spans => {
        const read = reread(spans)
        expect(officialJson(read)).toBe(officialJson(spans))
        expect(officialProtobuf(read)).toBe(officialProtobuf(spans))
      }),
      { numRuns: times(40, 200) },
    )
  })

  test('is the same to our own, and once more', () => {
    fc.assert(
      fc.property(anySpans, spans => {
        expect(lineOf(reread(reread(spans)))).toBe(lineOf(spans))
      }),
    )
  })

  test.each([0, 300])('has the last value of a repeated name, in its first place, beside %i others', count => {
    const of = (key: string, intValue: number): object => ({ key, value: { intValue } })
    const others = Array.from({ length: count }, (_, n) => of(`other.${n}`, n))
    const attributes = [of('a', 1), of('__proto__', 2), of('b', 3), ...others, of('a', 4), of('__proto__', 5)]
    const request = JSON.parse(lineOf([spanWith()]))
    request.resourceSpans[0].scopeSpans[0].spans[0].attributes = attributes
    const [read] = spansIn(new LineParser().read(JSON.stringify(request)))
    expect(Object.entries(read?.attributes ?? {}).slice(0, 3)).toEqual([
      ['a', 4],
      ['__proto__', 5],
      ['b', 3],
    ])
    expect(Object.keys(read?.attributes ?? {})).toHaveLength(3 + count)
    const spans = read ? [read] : []
    expect(Buffer.from(requestProtobuf(spans)).toString('hex')).toBe(officialProtobuf(spans))
    expect(lineOf(reread(spans))).toBe(lineOf(spans))
  })

  test('is the same to the console', async () => {
    await fc.assert(
      fc.asyncProperty(anySpans, async spans => {
        // In the order of a line, which is by resource and scope.
        const read = reread(spans)
        const ordered = read.map(span => byId(spans, span))
        expect(await printed(read)).toBe(await printed(ordered))
      }),
    )
  })

  test('has ended, and has its duration', () => {
    fc.assert(
      fc.property(anySpans, spans => {
        for (const read of reread(spans)) {
          expect(read.ended).toBe(true)
          expect(seconds(read.duration)).toBeCloseTo(seconds(byId(spans, read).duration), 3)
        }
      }),
    )
  })

  test('shares resource and scope with spans of other lines', () => {
    const parser = new LineParser()
    const [first, second] = [spanWith(), spanWith()].map(span => reread([span], parser)[0] as ReadableSpan)
    expect(first?.resource).toBe(second?.resource)
    expect(first?.instrumentationScope).toBe(second?.instrumentationScope)
    expect(first?.resource.attributes).toEqual({ 'service.name': 'test' })
  })

  test('is kept apart from spans whose schema alone differs', () => {
    const parser = new LineParser()
    const schemas = [undefined, 'https://schemas.test/1', 'https://schemas.test/2']
    const read = schemas.map(schemaUrl => {
      const schema = schemaUrl === undefined ? {} : { schemaUrl }
      const span = spanWith({
        instrumentationScope: { name: 'same', ...schema },
        resource: resourceFromAttributes({ same: true }, schema),
      })
      return reread([span], parser)[0]
    })
    expect(read.map(span => span?.instrumentationScope.schemaUrl)).toEqual(schemas)
    expect(read.map(span => span?.resource.schemaUrl)).toEqual(schemas)
  })

  test('keeps the flags of its trace', () => {
    const context = spanWith().spanContext()
    const [read] = reread([spanWith({ spanContext: () => ({ ...context, traceFlags: 3 }) })])
    expect(read?.spanContext().traceFlags).toBe(3)
  })

  test('has no duration if it ends before it starts', () => {
    const [read] = reread([spanWith({ startTime: [1_795_256_100, 5], endTime: [1_795_256_100, 4] })])
    expect(read).toMatchObject({ duration: [0, 0], endTime: [1_795_256_100, 4] })
  })

  test('shares within bounds', () => {
    const parser = new LineParser()
    const read = (name: string): unknown =>
      reread([spanWith({ instrumentationScope: { name } })], parser)[0]?.instrumentationScope
    const first = read('first')
    expect(read('first')).toBe(first)
    for (let n = 0; n < 200; n++) read(`scope ${n}`)
    expect(read('first')).not.toBe(first)
  })

  test('can be behind a hole in the file', () => {
    const line = lineOf([spanWith()])
    expect(new LineParser().read(`\0\0\0${line}`)).toMatchObject({ kind: 'spans', spans: [{ name: 'span' }] })
  })
})

describe('the note of open spans', () => {
  test('is read as spans that have not ended', () => {
    fc.assert(
      fc.property(openSpans, spans => {
        const line = new LineParser().read(noteOf(spans))
        expect(line.kind).toBe('open')
        expect(spansIn(line).map(({ ended, endTime }) => [ended, endTime])).toEqual(spans.map(() => [false, [0, 0]]))
        expect(lineOf(spansIn(line))).toBe(lineOf(spans))
      }),
    )
  })
})

describe('the header', () => {
  test('is read as it was written', () => {
    fc.assert(
      fc.property(
        fc.record({ incomplete: anyText, finalStatus: anyText, spanKind: anyText }),
        fc.array(fc.tuple(anyText, anyText)).map(pairs => new Map(pairs)),
        fc.maxSafeNat(),
        anyText,
        (marks, backends, continuedMillis, heldBy) => {
          const line = headerJson(marks, backends, continuedMillis, heldBy)
          expect(line).not.toContain('\n')
          expect(new LineParser().read(line)).toEqual({ kind: 'header', marks, backends, continuedMillis, heldBy })
        },
      ),
    )
  })

  test('names the version, the marks, and the backends of the segment', () => {
    expect(JSON.parse(headerJson(MARKS, new Map([['jaeger', 'there']])))).toEqual({
      'hookspan.segment': { version: 1, marks: MARKS, backends: { jaeger: 'there' } },
    })
  })

  test('may have more or fewer fields in a later version', () => {
    const later = { 'hookspan.segment': { version: 2, codec: 'none', marks: { spanKind: 'x.kind', colour: 'red' } } }
    expect(new LineParser().read(JSON.stringify(later))).toEqual({
      kind: 'header',
      marks: { incomplete: '', finalStatus: '', spanKind: 'x.kind' },
      backends: new Map(),
      continuedMillis: 0,
      heldBy: '',
    })
  })
})

test.each([
  ['nothing', ''],
  ['white space', ' \t\r'],
  ['an empty object', '{}'],
  ['metrics', '{"resourceMetrics":[]}'],
])('is another line than %s', (_, text) => {
  expect(new LineParser().read(text)).toEqual({ kind: 'other' })
})

describe('a span of a killed process', () => {
  const started = spanWith({
    endTime: [0, 0],
    duration: [0, 0],
    ended: false,
    startTime: [1_795_256_100, 500_000_000],
    status: { code: 1 },
    attributes: { a: 1, b: 2 },
  })
  const open = spansIn(new LineParser().read(noteOf([started])))[0] as ReadableSpan

  test('ends with the attributes added and the status unset, and is the same span otherwise', () => {
    const ended = endedSpan(open, 1_795_256_103_250.5, { b: 'crashed', c: true })
    expect(ended).toMatchObject({
      ended: true,
      endTime: [1_795_256_103, 250_500_000],
      duration: [2, 750_500_000],
      status: { code: 0 },
      attributes: { a: 1, b: 'crashed', c: true },
    })
    const { endTime, status, attributes } = ended
    const same = spanWith({ ...open, spanContext: () => open.spanContext(), endTime, status, attributes })
    expect(officialJson([ended])).toBe(officialJson([same]))
    expect(open.attributes).toEqual({ a: 1, b: 2 })
  })

  test.each([
    ['before its start', 1_795_256_100_000],
    ['at no time', Number.NaN],
    ['at the end of time', Number.POSITIVE_INFINITY],
  ])('ends when it starts: %s', (_, endAt) => {
    expect(endedSpan(open, endAt, {})).toMatchObject({ endTime: open.startTime, duration: [0, 0] })
  })

  test('is like any other if it is from a note', () => {
    fc.assert(
      fc.property(openSpans, fc.integer({ min: 0, max: 4e12 }), (spans, endAt) => {
        const ended = spansIn(new LineParser().read(noteOf(spans))).map(span => endedSpan(span, endAt, { z: '' }))
        expect(officialProtobuf(reread(ended))).toBe(officialProtobuf(ended))
        for (const span of ended) expect(Math.min(...span.duration)).toBeGreaterThanOrEqual(0)
      }),
    )
  })
})

function byId(spans: readonly ReadableSpan[], { spanContext }: ReadableSpan): ReadableSpan {
  return spans.find(span => span.spanContext().spanId === spanContext().spanId) as ReadableSpan
}

function seconds([whole, nanos]: HrTime): number {
  return whole + nanos / 1e9
}
