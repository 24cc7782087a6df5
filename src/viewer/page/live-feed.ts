import { effect } from '@preact/signals'
import type { LiveLine } from '../server/api.ts'
import { tabTitle } from './open-traces.ts'
import { fetchLiveLines, ViewerRequestError } from './requests.ts'
import { connection, notifyListeners, now, openTraces, pageTitle, source } from './state.ts'
import { forgetToken } from './token.ts'

const TICK_MILLIS = 1_000
const RETRY_MILLIS = 2_000
/**
 * The server writes a line every 5 seconds. After three missed lines the connection counts as broken, even if it is not closed.
 */
const SILENCE_LIMIT_MILLIS = 15_000
/** After this time a hidden tab closes its own connection: a browser allows only six per server. */
const HIDDEN_LIMIT_MILLIS = 20_000
/**
 * Name of the lock and of the channel of hidden tabs. The tab with the lock has the connection and forwards its lines to the
 * others.
 */
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
    const modeChange = abortOnModeChange(isShared)
    try {
      await (isShared ? readShared(modeChange.signal) : readLines(modeChange.signal, receiveAndNotify()))
      connection.value = 'lost'
    } catch (error) {
      if (!modeChange.signal.aborted) connection.value = isRefusal(error) ? 'refused' : 'lost'
    }
    modeChange.stop()
    if (connection.value === 'refused') return forgetToken()
    if (!modeChange.signal.aborted) await new Promise(resolve => setTimeout(resolve, RETRY_MILLIS))
  }
}

async function readLines(until: AbortSignal, receiveLine: (line: LiveLine) => void): Promise<void> {
  const silence = new AbortController()
  breakConnection = () => silence.abort()
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
  const state = { now: Date.now() + clockOffset, ...(open !== undefined && { open }) }
  return status === undefined ? state : { ...state, source: status }
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
    if (isFirst) notifyListeners(undefined)
    else if (line.changed !== undefined) notifyListeners(line.changed)
    isFirst = false
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof ViewerRequestError && (error.status === 401 || error.status === 403)
}

/** Aborts a tab's own feed when the tab has been hidden for long, and a shared feed when the tab becomes visible. */
function abortOnModeChange(isShared: boolean): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = (): void => {
    clearTimeout(timer)
    if (isShared) {
      if (!document.hidden) controller.abort()
    } else if (document.hidden) timer = setTimeout(() => controller.abort(), HIDDEN_LIMIT_MILLIS)
  }
  document.addEventListener('visibilitychange', look)
  look()
  return {
    signal: controller.signal,
    stop: () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', look)
    },
  }
}

/** Keeps the title of the browser tab up to date. Not an effect of a component: browsers delay these in a hidden tab. */
export function startTabTitle(): void {
  effect(() => {
    const isCut = connection.value === 'lost' || connection.value === 'refused'
    document.title = tabTitle(openTraces.value ?? [], !isCut, pageTitle.value)
  })
}
