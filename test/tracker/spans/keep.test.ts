import { describe, expect, test } from 'vitest'
import { type SampledTurn, samplingReason, thresholdOf } from '../../../src/tracker/spans/keep.ts'
import type { KeepRules } from '../../../src/tracker/spans/span-definition.ts'
import { addSigns, addWait, TurnSigns, TurnTotals } from '../../../src/tracker/spans/turn-totals.ts'
import fc from '../../support/fast-check.ts'

const NONE: KeepRules = {
  errors: false,
  denied: false,
  slowerThanMillis: undefined,
  waitsCount: false,
  costOver: undefined,
  tokensOver: undefined,
  tools: new Set(),
  threshold: undefined,
}
/** Whatever there is to say for a turn. */
const ALL: KeepRules = {
  errors: true,
  denied: true,
  slowerThanMillis: 1000,
  waitsCount: false,
  costOver: 0.5,
  tokensOver: 100,
  tools: new Set(['bash']),
  threshold: thresholdOf(0.5),
}

const LOW = '0'.repeat(32)
const HIGH = 'f'.repeat(32)

interface Came {
  readonly signs?: Partial<TurnSigns>
  readonly dollars?: number
  readonly tokens?: readonly [own: number, children: number, side: number]
  readonly millis?: number
  readonly hasFailed?: boolean
  readonly traceId?: string
}

function turn({
  signs,
  dollars = 0,
  tokens = [0, 0, 0],
  millis = 0,
  hasFailed = false,
  traceId = LOW,
}: Came): SampledTurn {
  const [own, children, side] = tokens
  const totals = {
    ...new TurnTotals(),
    signs: { ...new TurnSigns(), ...signs },
    cost: { dollars, known: 1, unknown: 0 },
    tokensInput: own,
    subagentTokens: { input: 0, output: children },
    auxiliaryTokens: { input: side, output: 0 },
  }
  return { traceId, hasFailed, totals, durationMillis: millis }
}

describe('the first matching rule is the reason', () => {
  test.each<[string, Came, string]>([
    ['nothing happened', {}, 'none'],
    ['it failed', { hasFailed: true }, 'error'],
    ['something in it failed', { signs: { errors: 1 } }, 'error'],
    ['something was denied', { signs: { denied: 1 } }, 'denied'],
    ['it failed, and something was denied', { signs: { denied: 1 }, hasFailed: true }, 'error'],
    ['as long as it may be', { millis: 1000 }, 'none'],
    ['longer', { millis: 1001 }, 'slow'],
    ['longer, with a wait for the user', { millis: 5000, signs: { waits: [[0, 4000]] } }, 'none'],
    [
      'longer beside that',
      {
        millis: 5002,
        signs: {
          waits: [
            [0, 4000],
            [4001, 4002],
          ],
        },
      },
      'slow',
    ],
    ['as dear as it may be', { dollars: 0.5 }, 'none'],
    ['dearer', { dollars: 0.51 }, 'cost'],
    ['as many tokens as there may be', { tokens: [50, 30, 20] }, 'none'],
    ['more tokens, all taken together', { tokens: [50, 30, 21] }, 'tokens'],
    ['a tool that is asked for', { signs: { tool: true } }, 'tool'],
    ['chosen by its id', { traceId: HIGH }, 'rate'],
    ['chosen by its id, and a tool', { traceId: HIGH, signs: { tool: true } }, 'tool'],
  ])('is found if %s', (_, came, reason) => {
    expect(samplingReason(ALL, turn(came))).toBe(reason)
    expect(samplingReason(NONE, turn(came))).toBe(came.signs?.tool === true ? 'tool' : 'none')
  })

  test('counts waits for the user as slow only by a rule of its own', () => {
    const waiting = turn({ millis: 5000, signs: { waits: [[0, 5000]] } })
    expect(samplingReason({ ...NONE, slowerThanMillis: 0, waitsCount: true }, waiting)).toBe('slow')
    expect(samplingReason({ ...NONE, slowerThanMillis: 0 }, waiting)).toBe('none')
  })
})

describe('a share, by the trace id alone', () => {
  test.each([
    [1, '00000000000000'],
    [0.5, '80000000000000'],
    [0.25, 'c0000000000000'],
    [0.75, '40000000000000'],
    [0.1, 'e6666666666666'],
    [2 ** -56, 'ffffffffffffff'],
    [0, undefined],
  ])('keeps the trace: %d', (rate, threshold) => {
    expect(thresholdOf(rate)).toBe(threshold)
  })

  const chosen = (rate: number, traceId: string): boolean =>
    samplingReason({ ...NONE, threshold: thresholdOf(rate) }, turn({ traceId })) === 'rate'

  test.each([
    ['ffffffffffffffffff7fffffffffffff', false],
    ['00000000000000000080000000000000', true],
    ['000000000000000000ffffffffffffff', true],
    ['00000000000000000000000000000000', false],
  ])('keeps half of them: %s %s', (traceId, isChosen) => {
    expect(chosen(0.5, traceId)).toBe(isChosen)
  })

  test('keeps all at 1 and none at 0, and at a higher rate all traces of a lower one', () => {
    const traceIds = fc.array(fc.constantFrom(...'0123456789abcdef'), { minLength: 32, maxLength: 32 })
    const rates = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))
    fc.assert(
      fc.property(traceIds, rates, (digits, [one, other]) => {
        const traceId = digits.join('')
        expect(chosen(1, traceId)).toBe(true)
        expect(chosen(0, traceId)).toBe(false)
        if (chosen(Math.min(one, other), traceId)) expect(chosen(Math.max(one, other), traceId)).toBe(true)
        expect(chosen(one, `${'a'.repeat(18)}${traceId.slice(-14)}`)).toBe(chosen(one, traceId))
      }),
    )
  })
})

describe('waiting', () => {
  const waits = fc.array(
    fc.tuple(fc.nat(60), fc.nat(12)).map(([from, millis]) => [from, from + millis] as const),
    { maxLength: 12 },
  )

  test('counts overlapping waits once, in any order of reports, of any turn of the family', () => {
    fc.assert(
      fc.property(waits, waits, (own, childs) => {
        const [parent, child] = [new TurnSigns(), new TurnSigns()]
        for (const [from, to] of own) addWait(parent, from, to)
        for (const [from, to] of childs) addWait(child, from, to)
        addSigns(parent, child)
        const instants = Array.from({ length: 80 }, (_, at) => at + 0.5)
        const inAny = (list: readonly (readonly [number, number])[]) =>
          instants.filter(at => list.some(([from, to]) => from < at && at < to))
        expect(inAny(parent.waits)).toEqual(inAny([...own, ...childs]))
        expect(parent.waits.reduce((sum, [from, to]) => sum + to - from, 0)).toBe(inAny([...own, ...childs]).length)
      }),
    )
  })

  test('is bounded, and a turn looks slower beyond the bound', () => {
    const signs = new TurnSigns()
    for (let at = 0; at < 2000; at += 2) addWait(signs, at, at + 1)
    expect(signs.waits.length).toBe(256)
  })
})
