import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor, isSecretKey } from '../../src/spans/redaction.ts'
import { INNOCENTS, SECRETS } from './redaction-corpus.ts'

const redact = createRedactor({ enabled: true, patterns: [] })

describe('secrets', () => {
  it.each(SECRETS)('masks $what and leaves what stands around it', ({ before, secret, after, masked }) => {
    expect(redact(before + secret + after)).toBe(masked ?? `${before}[REDACTED]${after}`)
  })
})
describe('innocent look-alikes', () => {
  it.each(INNOCENTS.map(text => [text]))('leaves %j alone', text => {
    expect(redact(text)).toBe(text)
  })
})
