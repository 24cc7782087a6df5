import { describe, expect, it } from 'vitest'
import { SAMPLED, sample } from '../support/sample.ts'
import { HEADER_FORMS, HEADER_NAMES, KEY_HEADERS, SCHEMES } from './corpus-headers.ts'
import { alnum } from './made-up-tokens.ts'
import { SECRETS } from './redaction-corpus.ts'
import { allThatIsSaid, leakOf, MODES, PLACEMENTS, placed } from './secret-placements.ts'

describe(`the search for secrets, ${SAMPLED}`, () => {
  it('covers as many shapes in as many places as promised', () => {
    expect(new Set(SECRETS.map(({ what }) => what)).size).toBeGreaterThanOrEqual(250)
    expect(SECRETS).toHaveLength(new Set(SECRETS.map(({ what }) => what)).size)
    expect(PLACEMENTS.length).toBeGreaterThanOrEqual(10)
  })

  for (const mode of MODES) {
    it.each(PLACEMENTS)(`masks $what (${mode})`, placement => {
      const leaks = sample(SECRETS, 40).flatMap(each =>
        allThatIsSaid(placed(placement, each), mode)
          .filter(text => leakOf(text, each.secret) !== undefined)
          .map(text => `${each.what}: ${text.slice(0, 300)}`),
      )
      expect(leaks).toEqual([])
    })
  }
})

describe(`a header with credentials, ${SAMPLED}`, () => {
  it.each(sample(HEADER_FORMS, 1))('is masked in $what, whatever its scheme', ({ before, after }) => {
    for (const name of sample(HEADER_NAMES, 2)) {
      for (const { scheme, key } of SCHEMES) {
        const text = before(name) + scheme + key + after
        for (const placement of PLACEMENTS) {
          const said = allThatIsSaid(placement.place(text), 'full').filter(each => leakOf(each, key) !== undefined)
          expect(said, placement.what).toEqual([])
        }
      }
    }
  })

  it.each(sample(HEADER_FORMS, 2))('is masked in $what, if it contains a key', ({ before, after }) => {
    for (const name of KEY_HEADERS) {
      const key = alnum(28, 3)
      for (const placement of PLACEMENTS) {
        const said = allThatIsSaid(placement.place(before(name) + key + after), 'full')
        expect(
          said.filter(each => leakOf(each, key) !== undefined),
          `${name} ${placement.what}`,
        ).toEqual([])
      }
    }
  })
})
