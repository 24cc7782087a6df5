import { resourceFromAttributes } from '@opentelemetry/resources'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { expect, test } from 'vitest'
import { RecordedSpan } from '../../../src/delivery/trace-log/recorded-span.ts'
import { requestProtobuf } from '../../../src/delivery/trace-log/span-protobuf.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { anySpans, anyText, officialProtobuf, spanWith } from './any-span.ts'

function hex(spans: readonly ReadableSpan[]): string {
  return Buffer.from(requestProtobuf(spans)).toString('hex')
}

/** Of which only this differs. */
const BASE = spanWith()

function but(more: Partial<ReadableSpan>): ReadableSpan[] {
  return [Object.create(BASE, Object.getOwnPropertyDescriptors(more)) as ReadableSpan]
}

function of(value: unknown): ReadableSpan[] {
  return but({ attributes: { value } as never })
}

test('writes the protobuf of OpenTelemetry, byte for byte', () => {
  fc.assert(
    fc.property(anySpans, spans => {
      expect(hex(spans)).toBe(officialProtobuf(spans))
    }),
    { numRuns: times(60, 300) },
  )
})

test('encodes texts, and messages around them, whose length takes one byte more', () => {
  const expectSame = (text: string, what: string): void => {
    const spans = of(text)
    expect(hex(spans) === officialProtobuf(spans), what).toBe(true)
  }
  for (const character of ['a', 'é', '中']) {
    for (const length of [0, 1, 39, 40, 41, 100, 120, 126, 127, 128, 129, 16_250, 16_383, 16_384])
      expectSame(character.repeat(length), `${length} times ${character}`)
    const bytes = Buffer.byteLength(character)
    for (const length of [2_097_151, 2_097_152])
      expectSame('a'.repeat(length % bytes) + character.repeat(length / bytes), `${length} bytes of ${character}`)
  }
})

test('encodes whole numbers that take one byte more, and negative ones', () => {
  const powers = Array.from({ length: 64 }, (_, power) => 2 ** power)
  for (const value of powers.flatMap(power => [power, power - 1, -power, 1 - power])) {
    expect(hex(of(value)), String(value)).toBe(officialProtobuf(of(value)))
  }
})

test('encodes values that only resources have: bytes, values of values, nothing', () => {
  const values = { bytes: Uint8Array.of(1, 2, 255), many: new Uint8Array(300), nested: { a: [1, { b: 'c' }], d: null } }
  const spans = but({ resource: resourceFromAttributes(values as never) })
  expect(hex(spans)).toBe(officialProtobuf(spans))
})

test('cuts a cyclic value without affecting others', () => {
  const endless: unknown[] = []
  endless.push(endless)
  expect(hex(of(endless))).toMatch(/^0a/)
  expect(hex(of('next'))).toBe(officialProtobuf(of('next')))
})

test('leaves nothing of a span that cannot be written', () => {
  const broken = but({
    get links(): never {
      throw new Error('broken')
    },
  })
  expect(() => requestProtobuf([BASE, ...broken])).toThrow('broken')
  expect(hex([BASE])).toBe(officialProtobuf([BASE]))
})

test('writes the nearest possible time for invalid times', () => {
  const at = (time: [number, number]): string => hex(but({ startTime: time }))
  expect(at([-5, 0])).toBe(at([0, 0]))
  expect(at([Number.NaN, 0])).toBe(at([0, 0]))
  expect(at([1e12, 0])).toContain(`39${'f'.repeat(16)}`)
})

test('does not overwrite returned bytes', () => {
  fc.assert(
    fc.property(anyText, text => {
      const first = requestProtobuf(of(text))
      const copy = Buffer.from(first)
      requestProtobuf(of(`${text} and more`))
      expect(copy.equals(first)).toBe(true)
    }),
  )
})

test('writes no bytes for no spans', () => {
  expect(requestProtobuf([])).toHaveLength(0)
})

test('encodes attributes that repeat from span to span, and those that alternate', () => {
  const { resource, instrumentationScope: scope } = BASE
  const settings = { resource, scope, attributeCountLimit: 128, partCountLimit: 128, processors: [] }
  const values = [
    1,
    1,
    1,
    -0,
    0,
    1.5,
    1.5,
    1.5,
    true,
    1,
    'a',
    'a',
    'a',
    'b',
    'a',
    '中',
    '中',
    '中',
    '',
    '',
    '',
    ['a'],
    ['a'],
  ]
  const long = 'long '.repeat(40)
  for (let round = 0; round < 3; round++) {
    for (const value of values) {
      const span = new RecordedSpan(settings, 'tool', 0, BASE.spanContext(), undefined, 1_795_256_100_000)
      span.setAttributes({ same: 'same', value, [`of.${typeof value}`]: value, long, ['key'.repeat(50)]: value })
      span.end(1_795_256_100_300)
      expect(hex([span]), String(value)).toBe(officialProtobuf([span]))
      expect(hex([span, span]), `${value}, twice`).toBe(officialProtobuf([span, span]))
    }
  }
})
