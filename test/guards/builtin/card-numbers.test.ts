import { describe, expect, it, test } from 'vitest'
import { cardNumbersIn } from '../../../src/guards/builtin/card-numbers.ts'
import fc from '../../support/fast-check.ts'

function shown(text: string): string[] {
  return cardNumbersIn(text).map(({ start, end }) => text.slice(start, end))
}

describe('the number of a card', () => {
  it.each([
    ...['4111111111111111', '4222222222222', '5555555555554444', '2223003122003222', '378282246310005'],
    ...['6011111111111117', '30569309025904', '38520000023237', '3530111333300000', '6200000000000005'],
    ...['4111 1111 1111 1111', '4111-1111-1111-1111', '3782 822463 10005', '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1'],
    ...['4111\u00a01111\u00a01111\u00a01111', '41111111 11111111', '5018000000000009', '2200000000000004'],
  ])('is found in %s', number => {
    expect(shown(number)).toEqual([number])
    expect(shown(`{"card":"${number}","until":"12/29"}`)).toEqual([number])
    expect(shown(`pay ${number}.`)).toEqual([number])
    expect(shown(`no=${number}&b=1`)).toEqual([number])
  })

  it.each([
    ['4111111111111111 5555555555554444', ['4111111111111111', '5555555555554444']],
    ['1234 4111 1111 1111 1111 12 29', ['4111 1111 1111 1111']],
    ['"a\\n4111111111111111"', ['4111111111111111']],
    ['\u{1f4b3}4111111111111111', ['4111111111111111']],
  ])('is found in %j', (text, numbers) => {
    expect(shown(text)).toEqual(numbers)
  })
})

describe('another number', () => {
  it.each([
    ...['', '4111111111111112', '411111111111111', '41111111111111111', '0000000000000000', '1111111111111117'],
    ...[
      '94111111111111111',
      '41111111111111110',
      '4111  1111 1111 1111',
      '4111--1111-1111-1111',
      '4111.1111.1111.1111',
    ],
    ...['0.4111111111111111', '4111111111111111.5', 'x4111111111111111', '4111111111111111f', '_4111111111111111'],
    ...['2026-11-23 14:45:54', '1763908800000', '+49 170 1234567', '00000000-0000-4000-8000-000000000000'],
    ...['4111\n1111\n1111\n1111', '9999999999999995'],
  ])('is not found in %j', text => {
    expect(shown(text)).toEqual([])
  })
})

test('rejects a number with a wrong check digit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 15 }), fc.integer({ min: 1, max: 9 }), (place, more) => {
      const digits = [...'4111111111111111'].map((digit, at) => (at === place ? (Number(digit) + more) % 10 : digit))
      expect(shown(digits.join(''))).toEqual([])
    }),
  )
})

test.each(['1', '4', '1 ', '4 ', '4-', '4111 ', ' ', '4.', '4111111111111111 ', '-', '4a'])(
  'terminates for hundreds of thousands of %j',
  seed => {
    const text = seed.repeat(Math.floor(400_000 / seed.length))
    expect(shown(`4111111111111111, ${text}`)[0]).toBe('4111111111111111')
  },
)
