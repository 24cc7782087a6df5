import { join } from 'node:path'
import { writeLog } from './index-log.mjs'
import { answerOf, inScratch } from './own-process.mjs'

/** As many as the default log of 256 MiB has. */
const SPANS = 250_000
const TURNS_OF_SESSION = 5

/** The index of a full log, from nothing and opened again: see `index-process.mjs`. */
export function indexCost(spans = SPANS) {
  return inScratch(async home => {
    const stateDirectory = join(home, 'state', 'hookspan')
    const { bytes, spans: written, turns } = writeLog(join(stateDirectory, 'traces'), spans)
    const newest = `session-${Math.floor((turns - 1) / TURNS_OF_SESSION)}`
    const fresh = await answerOf('index-process.mjs', { stateDirectory, newest }, home)
    if (fresh.spanCount !== written) throw new Error(`${written} spans were written, ${fresh.spanCount} are indexed`)
    const again = await answerOf('index-process.mjs', { stateDirectory, newest }, home)
    return { bytes, fresh, again }
  })
}
