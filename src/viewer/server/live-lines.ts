import type { ServerResponse } from 'node:http'
import type { LiveLine } from './api.ts'
import type { TraceSource } from './source.ts'

/** Interval of heartbeats. They also carry changes without a line in the log, such as the end of a process. */
const BEAT_MILLIS = 5_000

/**
 * Streams changes to a page, one per line, until it disconnects or the source ends. A slow page gets fewer lines and uses no more
 * memory.
 */
export async function writeLive(response: ServerResponse, source: TraceSource, now: () => number): Promise<void> {
  const changes = source.changes()
  const last = new LiveState()
  const write = (line: LiveLine): boolean => response.write(`${JSON.stringify(line)}\n`)
  const writeNews = (): void => {
    try {
      write({ now: now(), ...last.news(source) })
    } catch {
      // The source is closed. The page gets the reason when it reconnects.
      response.destroy()
    }
  }
  const beat = setInterval(writeNews, BEAT_MILLIS).unref()
  response.once('close', () => {
    clearInterval(beat)
    void changes.return?.()
  })
  write({ now: now(), ...last.news(source) })
  for (let next = await changes.next(); next.done !== true; next = await changes.next()) {
    const { traceIds, isMore } = next.value
    const isFull = !write({ now: now(), changed: isMore ? [] : traceIds, ...last.news(source) })
    if (isFull && !response.destroyed) await drained(response)
  }
  response.end()
}

class LiveState {
  #open = ''
  #source = ''

  news(source: TraceSource): Pick<LiveLine, 'open' | 'source'> {
    const [open, status] = [source.open(), source.status()]
    const [openText, statusText] = [JSON.stringify(open), JSON.stringify(status)]
    const news = { ...(openText !== this.#open && { open }), ...(statusText !== this.#source && { source: status }) }
    this.#open = openText
    this.#source = statusText
    return news
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}
