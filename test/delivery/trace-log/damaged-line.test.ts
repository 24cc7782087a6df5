import { describe, expect, test } from 'vitest'
import { ConsoleSpanSink } from '../../../src/delivery/pipeline/console-sink.ts'
import { headerJson, LineParser } from '../../../src/delivery/trace-log/line-parser.ts'
import { SpanLine } from '../../../src/delivery/trace-log/span-line.ts'
import fc, { ANY_CHARACTER } from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { anySpans, lineOf, noteOf, officialJson, officialProtobuf, spanWith } from './any-span.ts'

const ID = '0123456789abcdef'
const SECRET = 'not-to-be-quoted'

const SPAN = {
  traceId: ID + ID,
  spanId: ID,
  name: SECRET,
  kind: 1,
  startTimeUnixNano: '1795256100000000000',
  endTimeUnixNano: '1795256100000000001',
}

function lineWith(span: unknown, scope: unknown = { name: SECRET }, resource: unknown = { attributes: [] }): string {
  const good = { ...SPAN, spanId: 'fedcba9876543210' }
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans: [good, span] }] }] })
}

function withValue(value: unknown): string {
  return lineWith({ ...SPAN, attributes: [{ key: SECRET, value }] })
}

function nested(depth: number): string {
  return '{"arrayValue":{"values":['.repeat(depth) + ']}}'.repeat(depth)
}

test('builds damaged lines from a sound one', () => {
  expect(new LineParser().read(lineWith(SPAN)).kind).toBe('spans')
  expect(new LineParser().read(withValue({ stringValue: SECRET })).kind).toBe('spans')
  expect(new LineParser().read(withValue({})).kind).toBe('spans')
})

describe('a damaged line', () => {
  test.each<[string, string]>([
    ['its end cut off', lineWith(SPAN).slice(0, -1)],
    ['a hole in it', lineWith(SPAN).replace(ID, '\0'.repeat(ID.length))],
    ['no JSON', SECRET],
    ['a list', '[]'],
    ['a number', '5'],
    ['resourceSpans that are no list', `{"resourceSpans":{"a":"${SECRET}"}}`],
    ['resourceSpans of texts', `{"resourceSpans":["${SECRET}"]}`],
    ['a note that is no object', `{"hookspan.open":["${SECRET}"]}`],
    ['a header that is no object', `{"hookspan.segment":"${SECRET}"}`],
    ['a version that is no number', `{"hookspan.segment":{"version":"${SECRET}","marks":{}}}`],
    ['marks that are no texts', '{"hookspan.segment":{"version":1,"marks":{"incomplete":5}}}'],
    ['scopeSpans that are no list', '{"resourceSpans":[{"scopeSpans":5}]}'],
    ['spans that are no list', '{"resourceSpans":[{"scopeSpans":[{"spans":{}}]}]}'],
    ['a scope that is no object', lineWith(SPAN, SECRET)],
    ['a scope with a number for its name', lineWith(SPAN, { name: 5 })],
    ['a resource that is no object', lineWith(SPAN, {}, SECRET)],
    ['a resource with wrong attributes', lineWith(SPAN, {}, { attributes: { a: SECRET } })],
    ['a span that is none', lineWith(SECRET)],
    ['a span without an id', lineWith({ ...SPAN, spanId: undefined })],
    ['an id that is too short', lineWith({ ...SPAN, traceId: ID })],
    ['an id of other letters', lineWith({ ...SPAN, spanId: SECRET })],
    ['a parent that is a number', lineWith({ ...SPAN, parentSpanId: 5 })],
    ['a parent of other letters', lineWith({ ...SPAN, parentSpanId: SECRET })],
    ['a name that is none', lineWith({ ...SPAN, name: undefined })],
    ['a kind that there is not', lineWith({ ...SPAN, kind: 6 })],
    ['a kind in words', lineWith({ ...SPAN, kind: SECRET })],
    ['no start', lineWith({ ...SPAN, startTimeUnixNano: undefined })],
    ['a start in words', lineWith({ ...SPAN, startTimeUnixNano: SECRET })],
    ['a start before the epoch', lineWith({ ...SPAN, startTimeUnixNano: '-5' })],
    ['an end beyond 64 bits', lineWith({ ...SPAN, endTimeUnixNano: '18446744073709551616' })],
    ['an end that is a number', lineWith({ ...SPAN, endTimeUnixNano: 5 })],
    ['flags beyond 32 bits', lineWith({ ...SPAN, flags: 2 ** 32 })],
    ['flags with a fraction', lineWith({ ...SPAN, flags: 0.5 })],
    ['a count below zero', lineWith({ ...SPAN, droppedEventsCount: -1 })],
    ['a status that is a text', lineWith({ ...SPAN, status: SECRET })],
    ['a status that there is not', lineWith({ ...SPAN, status: { code: 3 } })],
    ['a message that is none', lineWith({ ...SPAN, status: { code: 2, message: [SECRET] } })],
    ['a trace state that is no text', lineWith({ ...SPAN, traceState: { a: SECRET } })],
    ['events that are no list', lineWith({ ...SPAN, events: SECRET })],
    ['an event without a time', lineWith({ ...SPAN, events: [{ name: SECRET }] })],
    ['an event without a name', lineWith({ ...SPAN, events: [{ timeUnixNano: '1' }] })],
    ['a link to nowhere', lineWith({ ...SPAN, links: [{ traceId: SECRET }] })],
    ['an attribute that is a text', lineWith({ ...SPAN, attributes: [SECRET] })],
    ['an attribute without a key', lineWith({ ...SPAN, attributes: [{ value: {} }] })],
    ['an attribute without a value', lineWith({ ...SPAN, attributes: [{ key: SECRET }] })],
    ['a text that is a number', withValue({ stringValue: 5 })],
    ['a truth that is a text', withValue({ boolValue: SECRET })],
    ['a whole number that is none', withValue({ intValue: 0.5 })],
    ['a whole number in words', withValue({ intValue: SECRET })],
    ['a number in words', withValue({ doubleValue: SECRET })],
    ['a number with the name of a method', withValue({ doubleValue: 'toString' })],
    ['a number beyond all numbers', withValue({ doubleValue: 'BIG' }).replace('"BIG"', '1e999')],
    ['a list that is a text', withValue({ arrayValue: SECRET })],
    ['a list of a text', withValue({ arrayValue: { values: SECRET } })],
    ['bytes that are a number', withValue({ bytesValue: 5 })],
    ['a value in a thousand lists', withValue('DEEP').replace('"DEEP"', nested(1000))],
    ['a value in a hundred thousand lists', withValue('DEEP').replace('"DEEP"', nested(100_000))],
    [
      'a resource in a hundred thousand lists',
      lineWith(SPAN, {}, { attributes: [{ key: 'a', value: 'DEEP' }] }).replace('"DEEP"', nested(100_000)),
    ],
  ])('is recognised by %s', (_, text) => {
    expect(new LineParser().read(text)).toEqual({ kind: 'damaged' })
  })
})

test('changes no prototype by a key of the prototype', () => {
  const line = lineWith(SPAN).replace('"kind"', '"__proto__":{"polluted":true},"kind"')
  const read = new LineParser().read(line)
  expect('spans' in read && read.spans).toHaveLength(2)
  expect('spans' in read && read.spans[1]).not.toHaveProperty('polluted')
  expect({}).not.toHaveProperty('polluted')
})

test('reads an attribute with the key of the prototype like any other', () => {
  const proto = { key: '__proto__', value: { intValue: 7 } }
  const read = new LineParser().read(
    lineWith({ ...SPAN, attributes: [proto, { key: 'a', value: { kvlistValue: { values: [proto] } } }] }),
  )
  if (!('spans' in read)) throw new Error('damaged')
  const attributes = read.spans.at(-1)?.attributes ?? {}
  expect(Object.entries(attributes)).toEqual([
    ['__proto__', 7],
    ['a', Object.fromEntries([['__proto__', 7]])],
  ])
})

/** Puts something else where one part of a JSON value was. */
function replaced(value: unknown, place: number, by: unknown): unknown {
  let left = place
  const walk = (part: unknown): unknown => {
    if (left-- === 0) return by
    if (Array.isArray(part)) return part.map(walk)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, walk(inner)]))
  }
  return walk(value)
}

describe('any line', () => {
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(null, -1, 1e300, '', '-1', '9'.repeat(30), [[]], { stringValue: 1 }, { intValue: '7' }),
  )

  test('can be sent, or is damaged', async () => {
    await fc.assert(
      fc.asyncProperty(anySpans, fc.nat({ max: 120 }), odd, fc.boolean(), async (spans, place, by, isNote) => {
        const text = JSON.stringify(replaced(JSON.parse(isNote ? noteOf(spans) : lineOf(spans)), place, by))
        const line = new LineParser().read(text)
        if (!('spans' in line)) return
        expect(officialJson(line.spans)).toMatch(/^\{"resourceSpans"/)
        expect(officialProtobuf(line.spans)).toBeTypeOf('string')
        expect(new LineParser().read(lineOf(line.spans)).kind).toBe('spans')
        await new ConsoleSpanSink(() => {}).export([new SpanLine(line.spans)])
      }),
      { numRuns: times(40, 2000) },
    )
  })

  test('never throws', () => {
    const pieces = fc.constantFrom(
      lineOf([spanWith()]),
      headerJson({ incomplete: '', finalStatus: '', spanKind: '' }, new Map()),
    )
    fc.assert(
      fc.property(pieces, fc.nat(), fc.nat(), fc.string({ unit: ANY_CHARACTER }), (line, from, until, text) => {
        const cut = line.slice(0, from % line.length) + text + line.slice(until % line.length)
        expect(['spans', 'open', 'header', 'other', 'damaged']).toContain(new LineParser().read(cut).kind)
        expect(['other', 'damaged']).toContain(new LineParser().read(text).kind)
      }),
      { numRuns: times(40, 2000) },
    )
  })
})
