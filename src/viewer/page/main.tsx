import { render } from 'preact'
import { App, TokenMissing } from './app.tsx'
import { startPageKeys } from './keys.tsx'
import { startLiveFeed, startTabTitle } from './live-feed.ts'
import { startNavigation } from './navigation.tsx'
import { startNotifications } from './notifications.tsx'
import { setToken } from './requests.ts'
import { findToken, watchAddress } from './token.ts'

watchAddress()
const token = await findToken()
if (token === undefined) render(<TokenMissing />, document.body)
else {
  setToken(token)
  startNavigation()
  startPageKeys()
  startTabTitle()
  startNotifications()
  startLiveFeed()
  render(<App />, document.body)
}
