import { describe, expect, it } from 'vitest'
import fc from '../support/fast-check.ts'
import { SAMPLED, sample, times } from '../support/sample.ts'
import { captureWith, fullOf, previewOf } from './captures.ts'
import { SECRETS } from './redaction-corpus.ts'

const preview = captureWith()

/** What must not be left of a secret: any 12 characters of it, or all of a shorter one. A key's first and last line are none. */
function leak(text: string, whole: string): string | undefined {
  const secret = whole.replace(/-----(?:BEGIN|END) [A-Z ]+-----/g, '')
  if (secret.length < 20) return secret.length > 5 && text.includes(secret) ? secret : undefined
  for (let at = 0; at + 12 <= secret.length; at++) {
    const piece = secret.slice(at, at + 12)
    if (text.includes(piece)) return piece
  }
  return undefined
}

describe('a secret across a cut', () => {
  it.each(sample(SECRETS, 15))(`is masked: $what, at every cap, ${SAMPLED}`, ({ before, secret, after }) => {
    const text = `some words in front ${before}${secret}${after} and words behind${' word'.repeat(400)}`
    const error = { type: 'x', message: text }
    for (let cap = 4; cap < Math.min(before.length + secret.length + 60, 400); cap++) {
      const capture = captureWith({ previewMaxChars: cap })
      for (const shown of [
        capture.content(text, 'tool_input')?.text,
        capture.content({ command: text, timeout: 5 }, 'tool_input')?.text,
        capture.content(JSON.stringify({ command: text, timeout: 5 }), 'tool_input')?.text,
        fullOf(text, cap)?.text,
      ]) {
        expect(leak(shown ?? '', secret)).toBeUndefined()
      }
    }
    expect(leak(preview.errorText(error) ?? '', secret)).toBeUndefined()
    expect(leak(preview.id(text) ?? '', secret)).toBeUndefined()
  })

  // The lines of a private key are nothing by themselves: without its first line, its last one has to be seen.
  const recognisable = SECRETS.filter(({ secret }) => !/(?<!BEGIN .*)-----END/s.test(secret))

  it('is masked anywhere in a long text that shrinks when it is captured', () => {
    const filler = fc.constantFrom(
      '   \n\t  ',
      'word ',
      '\u001b[31mred\u001b[0m ',
      'password=x ',
      'x',
      '", "a": "',
      '\\n',
      '/path/to',
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...recognisable),
        fc.array(fc.tuple(filler, fc.integer({ min: 1, max: 60 })), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 4, max: 600 }),
        ({ before, secret, after }, parts, cap) => {
          const text = `${parts.map(([part, times]) => part.repeat(times)).join('')} ${before}${secret}${after} ${'tail '.repeat(500)}`
          for (const value of [text, JSON.stringify({ text }), { text }, [text], { text: { text } }]) {
            expect(leak(previewOf(value, cap)?.text ?? '', secret)).toBeUndefined()
            expect(leak(fullOf(value, cap)?.text ?? '', secret)).toBeUndefined()
          }
          expect(leak(preview.snippet(text) ?? '', secret)).toBeUndefined()
        },
      ),
      { numRuns: times(50, 2000) },
    )
  })
})
