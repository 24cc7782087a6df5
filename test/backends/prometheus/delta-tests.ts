import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { expectSeries } from './expect-series.ts'
import { feedInSlices, type Sliced } from './feed-in-slices.ts'
import { type OpenWay, openWay, type Way } from './ways.ts'

const SLICES = 3

/** `temporality: delta`, which Prometheus itself cannot store: somebody has to add up. */
export function testDelta(way: Exclude<Way, 'scraped'>): void {
  describe(`differences that are ${way}`, () => {
    let home = ''
    let open: OpenWay
    let fed: Sliced

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'hookspan-delta-'))
      open = await openWay(way, { fields: { temporality: 'delta' } })
      fed = await feedInSlices(open.prometheus, open.config, { home, slices: SLICES })
    })

    afterAll(async () => {
      await fed?.plugin.shutdown()
      await open?.stop()
      rmSync(home, { recursive: true, force: true })
    })

    test('adds up to the fed values in every series', () => expectSeries(open, fed))
  })
}
