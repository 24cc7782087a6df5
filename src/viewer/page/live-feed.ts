import { effect } from '@preact/signals'
import type { LiveLine } from '../server/api.ts'
import { tabTitle } from './open-traces.ts'
import { fetchLiveLines, ViewerRequestError } from './requests.ts'
import { changeListeners, connection, now, openTraces, pageTitle, source } from './state.ts'
import { forgetToken } from './token.ts'

const TICK_MILLIS = 1_000
const RETRY_MILLIS = 2_000
/** The server writes a line every 5 seconds. After three missed lines, the connection counts as broken. */
const SILENCE_LIMIT_MILLIS = 15_000
/** After this time a hidden tab closes its own connection: a browser allows only six per server. */
const HIDDEN_LIMIT_MILLIS = 20_000
const SHARED_FEED = 'hookspan-live'
const JOINED = 'joined'

let clockOffset = 0
let receivedAt = 0
let breakConnection: () => void = () => undefined

export function startLiveFeed(): void {
  setInterval(() => {
    if (connection.value !== 'live') return
    if (Date.now() - receivedAt > SILENCE_LIMIT_MILLIS) breakConnection()
    else if (!document.hidden) now.value = Date.now() + clockOffset
  }, TICK_MILLIS)
  void stayConnected()
}

async function stayConnected(): Promise<void> {
  for (;;) {
    const isShared = document.hidden
    const ending = new AbortController()
    const modeChange = abortOnModeChange(isShared, ending.signal)
    try {
      await (isShared ? readShared(modeChange) : readLines(modeChange, receiveAndNotify()))
      connection.value = 'lost'
    } catch (error) {
      const isRefused = error instanceof ViewerRequestError && (error.status === 401 || error.status === 403)
      if (!modeChange.aborted) connection.value = isRefused ? 'refused' : 'lost'
    }
    ending.abort()
    if (connection.value === 'refused') return forgetToken()
    if (!modeChange.aborted) await new Promise(resolve => setTimeout(resolve, RETRY_MILLIS))
  }
}

async function readLines(until: AbortSignal, receiveLine: (line: LiveLine) => void): Promise<void> {
  const silence = new AbortController()
  breakConnection = () => silence.abort()
  // Otherwise the silence before this connection would end it before its first line.
  receivedAt = Date.now()
  for await (const line of fetchLiveLines(AbortSignal.any([until, silence.signal]))) receiveLine(line)
}

/**
 * Hidden tabs share one connection. The tab with the lock reads it; the others wait for the lock and receive the lines over the
 * channel. Only the title of a hidden tab is visible, so its views are not reloaded.
 */
async function readShared(until: AbortSignal): Promise<void> {
  const channel = new BroadcastChannel(SHARED_FEED)
  channel.onmessage = ({ data }) => {
    if (data !== JOINED) receiveLine(data as LiveLine)
  }
  channel.postMessage(JOINED)
  try {
    await navigator.locks.request(SHARED_FEED, { signal: until }, async () => {
      // A joining tab has missed all earlier lines.
      channel.onmessage = ({ data }) => {
        if (data === JOINED) channel.postMessage(lastState())
      }
      await readLines(until, line => {
        receiveLine(line)
        channel.postMessage(line)
      })
    })
  } finally {
    channel.close()
  }
}

function lastState(): LiveLine {
  const [open, status] = [openTraces.peek(), source.peek()]
  return { now: Date.now() + clockOffset, ...(open && { open }), ...(status && { source: status }) }
}

function receiveLine(line: LiveLine): void {
  receivedAt = Date.now()
  clockOffset = line.now - receivedAt
  now.value = line.now
  connection.value = 'live'
  if (line.open !== undefined) openTraces.value = line.open
  if (line.source !== undefined) source.value = line.source
}

function receiveAndNotify(): (line: LiveLine) => void {
  let isFirst = true
  return line => {
    receiveLine(line)
    const changed = isFirst ? undefined : line.changed
    if (isFirst || changed !== undefined) for (const listener of changeListeners) listener(changed)
    isFirst = false
  }
}

/** Aborts a tab's own feed when the tab has been hidden for long, and a shared feed when the tab becomes visible. */
function abortOnModeChange(isShared: boolean, ending: AbortSignal): AbortSignal {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = (): void => {
    clearTimeout(timer)
    if (isShared && !document.hidden) controller.abort()
    if (!isShared && document.hidden) timer = setTimeout(() => controller.abort(), HIDDEN_LIMIT_MILLIS)
  }
  document.addEventListener('visibilitychange', look, { signal: ending })
  look()
  return controller.signal
}

/** Keeps the title of the browser tab up to date. Not an effect of a component: browsers delay these in a hidden tab. */
export function startTabTitle(): void {
  effect(() => {
    const isCut = connection.value === 'lost' || connection.value === 'refused'
    document.title = tabTitle(openTraces.value ?? [], !isCut, pageTitle.value)
  })
}
