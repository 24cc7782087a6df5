import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { PUBLISHED } from './build.mjs'
import { median, quantile } from './figures.mjs'
import { sessionOf, traceOf, writeLog } from './index-log.mjs'
import { inScratch, startProgram } from './own-process.mjs'
import { withBrowser } from './viewer-browser.mjs'

const SPANS = 200_000
const TURN = { series: 'a', spansPerTurn: 5_000, turnsPerSession: 1 }
const TALK = { series: 'b', spansPerTurn: 8, turnsPerSession: 500 }
const RUNS = 5
const LOOK_MILLIS = 50
/** The page loads everything a second time when its live connection is there. */
const SETTLE_MILLIS = 4_000
const URL_LINE = /(http:\/\/127\.0\.0\.1:\d+)\/(#k=([\w-]+))/

/** `hookspan view` of a log of 200 000 spans, as published, and its page in a browser if this machine has one. */
export function viewerCost() {
  return inScratch(home =>
    withBrowser(async browser => {
      const traces = join(home, 'state', 'hookspan', 'traces')
      writeLog(traces, TURN.spansPerTurn, TURN)
      writeLog(traces, TALK.spansPerTurn * TALK.turnsPerSession, TALK)
      const { spans, bytes } = writeLog(traces, SPANS)
      const cold = await coldStart(home, browser)
      const warm = []
      for (let run = 0; run < RUNS; run++) warm.push(await withViewer(home, viewer => firstRows(viewer, browser)))
      const opened = browser && (await withViewer(home, viewer => opening(viewer, browser)))
      return { spans, bytes, cold, warmMillis: median(warm), opened, gzipBytes: gzipBytes() }
    }),
  )
}

function coldStart(home, browser) {
  return withViewer(home, async viewer => {
    const firstMillis = await firstRows(viewer, browser)
    for (let isListed = false; !isListed; await pause(LOOK_MILLIS)) {
      const { source } = await viewer.read('/api/status')
      isListed = source.indexedBytes === source.bytes
    }
    const listed = { millis: viewer.millis(), cpuMillis: (await viewer.usage()).cpuMillis }
    // The id of a turn in the oldest file, which is read last.
    const isFound = async () =>
      (await viewer.read('/api/sessions?text=turn-0')).rows.some(({ id }) => id === sessionOf(TURN.series, 0))
    while (!(await isFound())) await pause(LOOK_MILLIS)
    const searchedMillis = viewer.millis()
    await pause(SETTLE_MILLIS)
    return { firstMillis, listed, searchedMillis, ...(await viewer.usage()) }
  })
}

/** Milliseconds from the command to the first rows of the sessions: on the page, or from the server if there is no browser. */
async function firstRows(viewer, browser) {
  if (browser === undefined) {
    while ((await viewer.read('/api/sessions')).rows.length === 0) await pause(LOOK_MILLIS)
    return viewer.millis()
  }
  const tab = await browser.openTab()
  await tab.show(viewer.at('/sessions'), 'table.sessions tbody tr')
  return viewer.millis()
}

async function opening(viewer, browser) {
  const open = async (path, selector, look = () => undefined) => {
    const tab = await browser.openTab()
    const cpuBefore = await browser.cpuMillis()
    const startedAt = performance.now()
    await tab.show(viewer.at(path), selector)
    const millis = performance.now() - startedAt
    const cpuMillis = (await browser.cpuMillis()) - cpuBefore
    const looked = await look(tab)
    await tab.close()
    return { millis, cpuMillis, looked }
  }
  const [turns, talks] = [[], []]
  for (let run = 0; run < RUNS; run++) {
    turns.push(await open(`/turns/${traceOf(TURN.series, 0)}`, '[role=treeitem]'))
    talks.push(await open(`/sessions/${sessionOf(TALK.series, 0)}`, '.said'))
  }
  const zoom = await open(`/turns/${traceOf(TURN.series, 0)}?unfolded=1`, '[role=treeitem]', async tab => {
    await pause(SETTLE_MILLIS)
    const cpuBefore = await browser.cpuMillis()
    const frames = await tab.zoomFrames()
    const cpuMillis = ((await browser.cpuMillis()) - cpuBefore) / frames.length
    return { p50: quantile(frames, 0.5), p95: quantile(frames, 0.95), cpuMillis }
  })
  const elsewhere = browser.requests.filter(url => new URL(url).hostname !== '127.0.0.1').length
  const sums = runs => ({
    millis: median(runs.map(run => run.millis)),
    mostMillis: Math.max(...runs.map(run => run.millis)),
    cpuMillis: median(runs.map(run => run.cpuMillis)),
  })
  return { turn: sums(turns), talk: sums(talks), zoom: zoom.looked, elsewhere, ...(await viewer.usage()) }
}

function gzipBytes() {
  const folder = new URL('page/', PUBLISHED)
  return readdirSync(folder).reduce((sum, name) => sum + gzipSync(readFileSync(new URL(name, folder))).length, 0)
}

/** A viewer that ends as with Ctrl-C, so that it saves its index. */
async function withViewer(home, measure) {
  const startedAt = performance.now()
  const child = startProgram('command-process.mjs', ['view'], home)
  child.stderr.pipe(process.stderr)
  const ended = once(child, 'exit')
  try {
    const [text] = await once(child.stdout, 'data')
    const [, origin, hash, token] = URL_LINE.exec(String(text))
    return await measure({
      millis: () => performance.now() - startedAt,
      at: path => origin + path + hash,
      read: async path => (await fetch(origin + path, { headers: { authorization: `Bearer ${token}` } })).json(),
      /** CPU time of all threads so far, and resident memory. */
      usage: async () => {
        child.send('usage')
        return (await once(child, 'message'))[0]
      },
    })
  } finally {
    child.kill('SIGINT')
    await ended
  }
}
