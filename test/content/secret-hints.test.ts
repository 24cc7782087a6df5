import { expect, it } from 'vitest'
import { PRIVATE_KEYS } from '../../src/content/secret-private-keys.ts'
import { RECORDS } from '../../src/content/secret-records.ts'
import { maskSpans } from '../../src/content/secret-span.ts'
import { UNSEPARATED_TOKENS } from '../../src/content/secret-tokens.ts'
import { INNOCENTS } from './look-alikes.ts'
import { alnum, hex, upper } from './made-up-tokens.ts'
import { SECRETS } from './redaction-corpus.ts'

const LETTERS =
  `AKIA ASIA ABIA ACCA AKID AKC${'x'} ABSK ATATT3 ATCTT3 ATBB AIza LTAI EAAx EZAK EZTK eyJ 12345678:AA`.split(' ')
const TOKENS = [
  ...LETTERS.flatMap(start => [upper(16), alnum(35), alnum(70)].map(rest => start + rest)),
  ...['dapi', 'SK'].map(start => start + hex(32)),
  `1//0${alnum(50)}`,
]
const TEXTS = [
  ...SECRETS.map(({ before, secret, after }) => before + secret + after),
  ...INNOCENTS,
  ...TOKENS.map(token => `the key is ${token} today`),
]

it.each(Object.entries({ PRIVATE_KEYS, RECORDS, UNSEPARATED_TOKENS }))(
  'finds in %s by its hints all that its candidates find',
  (_, family) => {
    const { candidates, spanAt } = family
    for (const text of TEXTS) expect(maskSpans(text, family)).toBe(maskSpans(text, { candidates, spanAt }))
    expect(TEXTS.some(text => maskSpans(text, family) !== text)).toBe(true)
  },
)
