/** What lets this tab in; sessionStorage is of one tab and of one port, where a cookie would be every port's. */
const KEY = 'hookspan-token'
const TOKEN = /^[\w-]{20,100}$/
/** Other tabs answer at once, or not at all. */
const PATIENCE_MILLIS = 300

/** From the address, from before, or from another tab of this viewer; undefined when nobody has one. */
export async function findToken(): Promise<string | undefined> {
  const channel = new BroadcastChannel(KEY)
  const token = fromAddress() ?? sessionStorage.getItem(KEY) ?? (await askTabs(channel))
  if (token === undefined) return undefined
  sessionStorage.setItem(KEY, token)
  // Only pages of this very origin are on the channel.
  channel.onmessage = ({ data }) => {
    if (data === 'asked') channel.postMessage(token)
  }
  return token
}

/** It is no longer of use: the viewer has been started anew. */
export function forgetToken(): void {
  sessionStorage.removeItem(KEY)
}

/** An address with another token, put into a tab that shows this page, changes its hash alone: the browser does not load it anew. */
export function watchAddress(): void {
  addEventListener('hashchange', () => {
    const token = fromAddress()
    if (token === undefined || token === sessionStorage.getItem(KEY)) return
    sessionStorage.setItem(KEY, token)
    location.reload()
  })
}

/** Taken out of it, so that it is neither copied with the address nor kept in the history. */
function fromAddress(): string | undefined {
  const token = location.hash.startsWith('#k=') ? location.hash.slice(3) : ''
  if (!TOKEN.test(token)) return undefined
  history.replaceState(history.state, '', location.pathname + location.search)
  return token
}

function askTabs(channel: BroadcastChannel): Promise<string | undefined> {
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve(undefined), PATIENCE_MILLIS)
    channel.onmessage = ({ data }) => {
      if (typeof data !== 'string' || !TOKEN.test(data)) return
      clearTimeout(timer)
      resolve(data)
    }
    channel.postMessage('asked')
  })
}
