import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { read } from '../../support/pages.ts'
import { FIXTURES } from '../shown.ts'

test("shows the same run as captured by Locus's own hook", () => {
  const theirs = readFileSync(join(FIXTURES, 'locus', 'beside-telemetry.theirs.txt'), 'utf8')
  expect(read('docs/agents/locus.md')).toContain(
    `<!-- test/fixtures/locus/beside-telemetry.theirs.txt -->\n\n\`\`\`text\n${theirs}\`\`\`\n`,
  )
})
