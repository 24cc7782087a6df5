import { describe, expect, it } from 'vitest'
import { SECRETS } from './redaction-corpus.ts'
import { allThatIsSaid, leakOf, MODES, PLACEMENTS } from './secret-placements.ts'

describe('no secret is said', () => {
  it('of as many shapes in as many places as are promised', () => {
    expect(new Set(SECRETS.map(({ what }) => what)).size).toBeGreaterThanOrEqual(250)
    expect(SECRETS).toHaveLength(new Set(SECRETS.map(({ what }) => what)).size)
    expect(PLACEMENTS.length).toBeGreaterThanOrEqual(10)
  })

  for (const mode of MODES) {
    it.each(PLACEMENTS)(`$what (${mode})`, ({ place }) => {
      const leaks = SECRETS.flatMap(({ what, before, secret, after }) =>
        allThatIsSaid(place(before + secret + after), mode)
          .filter(text => leakOf(text, secret) !== undefined)
          .map(text => `${what}: ${text.slice(0, 300)}`),
      )
      expect(leaks).toEqual([])
    })
  }
})
