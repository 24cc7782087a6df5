/** The storage key of the token. sessionStorage belongs to one tab and one port; a cookie would be shared by all ports. */
const KEY = 'hookspan-token'
const TOKEN = /^[\w-]{20,100}$/
/** Other tabs answer at once, or not at all. */
const ANSWER_TIMEOUT_MILLIS = 300

/**
 * The token from the address, from this tab's storage, or from another tab of this viewer; undefined if there is none.
 * Only pages of this origin can use the channel.
 */
export async function findToken(): Promise<string | undefined> {
  const channel = new BroadcastChannel(KEY)
  const token = fromAddress() ?? sessionStorage.getItem(KEY) ?? (await askTabs(channel))
  if (token === undefined) return undefined
  sessionStorage.setItem(KEY, token)
  channel.onmessage = ({ data }) => {
    if (data === 'asked') channel.postMessage(token)
  }
  return token
}

export function knownToken(): string {
  return sessionStorage.getItem(KEY) ?? ''
}

export function forgetToken(): void {
  sessionStorage.removeItem(KEY)
}

/** Pasting an address with another token into a tab of this page changes only the hash: the browser does not reload it. */
export function watchAddress(): void {
  addEventListener('hashchange', () => {
    const token = fromAddress()
    if (token === undefined || token === sessionStorage.getItem(KEY)) return
    sessionStorage.setItem(KEY, token)
    location.reload()
  })
}

/** Removes the token from the address, so that it is not copied or kept in the history. */
function fromAddress(): string | undefined {
  const token = location.hash.startsWith('#k=') ? location.hash.slice(3) : ''
  if (!TOKEN.test(token)) return undefined
  history.replaceState(history.state, '', location.pathname + location.search)
  return token
}

function askTabs(channel: BroadcastChannel): Promise<string | undefined> {
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve(undefined), ANSWER_TIMEOUT_MILLIS)
    channel.onmessage = ({ data }) => {
      if (typeof data !== 'string' || !TOKEN.test(data)) return
      clearTimeout(timer)
      resolve(data)
    }
    channel.postMessage('asked')
  })
}
