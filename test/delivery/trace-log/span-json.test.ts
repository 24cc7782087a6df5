import { resourceFromAttributes } from '@opentelemetry/resources'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { describe, expect, test } from 'vitest'
import { estimatedBytes } from '../../../src/delivery/trace-log/span-json.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import {
  anySpans,
  anyText,
  lineOf,
  noteOf,
  officialJson,
  openSpans,
  plainSpans,
  simpleSpans,
  spanWith,
} from './any-span.ts'

/** What some reader of lines takes for the end of one. */
const LINE_BREAK = /[\n\v\f\r\u0085\u2028\u2029]/
const LONE_SURROGATE = /\p{Surrogate}/u

interface Parsed {
  readonly attributes: readonly { key: string; value: unknown }[]
  readonly [field: string]: unknown
}

function parsed(span: ReadableSpan): Parsed {
  return JSON.parse(lineOf([span])).resourceSpans[0].scopeSpans[0].spans[0] as Parsed
}

/** The OTLP value that one attribute becomes. */
function otlpValue(value: unknown): unknown {
  return parsed(spanWith({ attributes: { value } as never })).attributes[0]?.value
}

describe('the JSON of a request', () => {
  test("equals the output of OpenTelemetry's serializer", () => {
    fc.assert(
      fc.property(plainSpans, spans => {
        expect(JSON.parse(lineOf(spans))).toStrictEqual(JSON.parse(officialJson(spans)))
      }),
      { numRuns: times(50, 200) },
    )
  })

  test('is one line of valid UTF-8, whatever is in the spans', () => {
    fc.assert(
      fc.property(anySpans, spans => {
        const line = lineOf(spans)
        expect(line).not.toMatch(LINE_BREAK)
        expect(line).not.toMatch(LONE_SURROGATE)
        expect(JSON.parse(line)).toBeInstanceOf(Object)
      }),
      { numRuns: times(50, 200) },
    )
  })

  test('is the same the second time', () => {
    fc.assert(
      fc.property(anySpans, spans => {
        expect(lineOf(spans)).toBe(lineOf(spans))
      }),
    )
  })

  test('has no spans for none', () => {
    expect(lineOf([])).toBe('{"resourceSpans":[]}')
  })

  test('waits for the attributes that a resource does not have yet', async () => {
    const resource = resourceFromAttributes({ late: Promise.resolve('here') as never })
    const span = spanWith({ resource })
    lineOf([span])
    await resource.waitForAsyncAttributes?.()
    expect(lineOf([span])).toContain('{"key":"late","value":{"stringValue":"here"}}')
  })
})

describe('the JSON of a span', () => {
  test.each([
    ['a whole number', 5, { intValue: 5 }],
    ['minus zero', -0, { intValue: 0 }],
    ['a fraction', 0.5, { doubleValue: 0.5 }],
    ['no number', Number.NaN, { doubleValue: 'NaN' }],
    ['no end', Number.NEGATIVE_INFINITY, { doubleValue: '-Infinity' }],
    ['more than 64 bits', 2 ** 63, { doubleValue: 2 ** 63 }],
    ['less than 64 bits', -(2 ** 63), { doubleValue: -(2 ** 63) }],
    ['almost 64 bits', 2 ** 62, { intValue: 2 ** 62 }],
    ['nothing', null, {}],
    ['a value without a form in OTLP', 5n, {}],
    ['bytes', new Uint8Array([1, 255]), { bytesValue: 'Af8=' }],
    [
      'an object',
      { a: [true] },
      { kvlistValue: { values: [{ key: 'a', value: { arrayValue: { values: [{ boolValue: true }] } } }] } },
    ],
    // biome-ignore lint/suspicious/noSparseArray: a hole is the matter
    ['a hole in a list', ['a', , 'b'], { arrayValue: { values: [{ stringValue: 'a' }, {}, { stringValue: 'b' }] } }],
  ])('writes %s', (_, value, otlp) => {
    expect(otlpValue(value)).toEqual(otlp)
  })

  test('has an end for a value without one', () => {
    const endless: unknown[] = []
    endless.push(endless)
    expect(() => otlpValue(endless)).not.toThrow()
  })

  test('remembers no value of one attribute for another', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(anyText, fc.integer({ max: 1 }), fc.boolean()), { minLength: 2 }), values => {
        const spans = values.map(value => spanWith({ attributes: { value, other: 'same' } }))
        const read = spans.map(span => parsed(span).attributes.map(({ value }) => Object.values(value as object)[0]))
        expect(read).toEqual(values.map(value => [value, 'same']))
      }),
    )
  })

  test.each<[string, [number, number], string]>([
    ['usual', [1_795_256_100, 5], '1795256100000000005'],
    ['before any', [0, 0], '0'],
    ['right after the epoch', [0, 7], '7'],
    ['rounded up to a second', [1_795_256_100, 1e9], '1795256101000000000'],
    ['with a part of a second', [1.5, 0], '1000000000'],
    ['before the epoch', [-5, 0], '0'],
    ['no number', [Number.NaN, Number.NaN], '0'],
    ['microseconds taken for milliseconds', [1.8e12, 0], '18446744073709551615'],
  ])('has the right time: %s', (_, time, text) => {
    expect(parsed(spanWith({ startTime: time })).startTimeUnixNano).toBe(text)
  })

  test('has an explicit kind if it has none', () => {
    expect(parsed(spanWith({ kind: undefined as never })).kind).toBe(0)
  })
})

describe('the note of open spans', () => {
  test('has them where readers of ended spans do not look', () => {
    fc.assert(
      fc.property(openSpans, spans => {
        const note = JSON.parse(noteOf(spans)) as Record<string, unknown>
        expect(note).toEqual({ 'hookspan.open': JSON.parse(lineOf(spans)) })
        expect(noteOf(spans)).toContain('"endTimeUnixNano":"0"')
      }),
    )
  })
})

describe('the estimate of a span', () => {
  test('is not below its JSON, nor far above', () => {
    fc.assert(
      fc.property(simpleSpans, spans => {
        for (const span of spans) {
          const bytes = Buffer.byteLength(JSON.stringify(parsed(span)))
          expect(estimatedBytes(span)).toBeGreaterThanOrEqual(bytes)
          expect(estimatedBytes(span)).toBeLessThan(bytes * 3)
        }
      }),
    )
  })
})
