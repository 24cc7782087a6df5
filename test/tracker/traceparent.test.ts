import { describe, expect, test } from 'vitest'
import { formatTraceparent, parseTraceparent } from '../../src/tracker/traceparent.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

describe('read', () => {
  test.each([
    ['sampled', `00-${TRACE}-${SPAN}-01`, 1],
    ['not sampled', `00-${TRACE}-${SPAN}-00`, 0],
    ['with flags that we do not know', `00-${TRACE}-${SPAN}-03`, 1],
    ['of a later version, with more to it', `01-${TRACE}-${SPAN}-01-what-the-future-brings`, 1],
    ['between blanks', `  00-${TRACE}-${SPAN}-01\n`, 1],
  ])('parses one that is %s', (_what, text, traceFlags) => {
    expect(parseTraceparent(text)).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags, isRemote: true })
  })

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 42],
    ['an object', { traceparent: `00-${TRACE}-${SPAN}-01` }],
    ['an empty text', ''],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['capital letters', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['a trace that is short', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['a span that is long', `00-${TRACE}-${SPAN}0-01`],
    ['no flags', `00-${TRACE}-${SPAN}`],
    ['the version that means none', `ff-${TRACE}-${SPAN}-01`],
    ['a version that allows no more to it, with more to it', `00-${TRACE}-${SPAN}-01-more`],
    ['a long text', `00-${TRACE}-${SPAN}-01`.repeat(100_000)],
  ])('returns none for %s', (_what, value) => {
    expect(parseTraceparent(value)).toBeUndefined()
  })
})

test('formats it as parsed', () => {
  for (const flags of ['00', '01']) {
    const text = `00-${TRACE}-${SPAN}-${flags}`
    const context = parseTraceparent(text)
    expect(context && formatTraceparent(context)).toBe(text)
  }
})
