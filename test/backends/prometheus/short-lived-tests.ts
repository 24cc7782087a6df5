import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { total } from './feed-in-slices.ts'
import { until } from './until.ts'
import { type OpenWay, openWay, type Way } from './ways.ts'

const PROGRAM = fileURLToPath(new URL('short-lived.mjs', import.meta.url))
const PROCESSES = 3
/** What one of them says. */
const TOKENS = 1000
const run = promisify(execFile)

/** Agents that live for a turn, and report once. */
export function testShortLived(way: Exclude<Way, 'scraped'>): void {
  describe(`one-shot agents whose metrics are ${way}`, () => {
    let home = ''
    let open: OpenWay

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'hookspan-short-'))
      open = await openWay(way)
      const [backend] = open.config.backends ?? []
      const endpoint = typeof backend === 'object' ? backend.endpoint : undefined
      const env = { PATH: process.env['PATH'], HOME: home }
      for (let each = 0; each < PROCESSES; each++) {
        await run(process.execPath, [PROGRAM, endpoint ?? '', 'one-shot'], { env })
      }
    })

    afterAll(async () => {
      await open?.stop()
      rmSync(home, { recursive: true, force: true })
    })

    test('counts all of them', async () => {
      await until(
        () => total(open.prometheus, 'hermes_tokens_input_total'),
        sum => (sum === PROCESSES * TOKENS ? undefined : sum),
        'tokens',
      )
      expect(await total(open.prometheus, 'hermes_sessions_total{final_status="completed"}')).toBe(PROCESSES)
    })

    test('shows them as an increase, though each is one sample', async () => {
      const increase = await until(
        () => open.prometheus.query('sum by (instance) (increase(hermes_tokens_input_total[5m]))'),
        found => (found.length === PROCESSES && found.every(({ value }) => Number(value[1]) > 0) ? undefined : found),
        'an increase of each',
      )
      // It is extrapolated to the edges of the range, and to zero at most.
      for (const { value } of increase) {
        expect(Number(value[1])).toBeGreaterThanOrEqual(TOKENS)
        expect(Number(value[1])).toBeLessThanOrEqual(1.6 * TOKENS)
      }
    })
  })
}
