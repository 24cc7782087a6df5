import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { checkPattern } from '../../src/content/redact-patterns.ts'
import { createRedactor } from '../../src/content/redaction.ts'

const page = readFileSync(new URL('../../docs/privacy.md', import.meta.url), 'utf8')
const rows = [...page.matchAll(/^\| [^|]+ \| `([^`]+)` \| `([^`]+)` \|$/gm)].map(([, before, after]) => ({
  before,
  after,
}))
const limits = [...page.matchAll(/^ {2}\| [^|]+ \| `((?:[^`|]|\\\|)+)` \| `([^`]+)` \|$/gm)].map(
  ([, example = '', stays = '']) => ({ example: example.replaceAll('\\|', '|'), stays }),
)
const patterns = [...page.matchAll(/^ {2}- '(.+)'$/gm)].map(([, source]) => source ?? '')

describe('docs/privacy.md', () => {
  it('has the examples that are checked here', () => {
    expect(rows.length).toBeGreaterThanOrEqual(14)
    expect(limits.length).toBeGreaterThanOrEqual(14)
    expect(patterns).toHaveLength(2)
  })

  it.each(rows)('$before', ({ before, after }) => {
    const redact = createRedactor({ enabled: true, patterns: [] })
    expect(redact(before ?? '')).toBe(after)
  })

  // A limit that has been overcome leaves the list.
  it.each(limits)('is open about $example', ({ example, stays }) => {
    expect(createRedactor({ enabled: true, patterns: [] })(example)).toContain(stays)
  })

  it.each(patterns)('masks by the own pattern %s', source => {
    expect(checkPattern(source).ok).toBe(true)
  })
})
