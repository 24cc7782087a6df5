import { render } from 'preact'
import { App, TokenMissing } from './app.tsx'
import { startPageKeys } from './keys.tsx'
import { startLiveFeed, startTabTitle } from './live-feed.ts'
import { startNavigation } from './navigation.tsx'
import { startNotifications } from './notifications.tsx'
import { findToken, watchAddress } from './token.ts'

watchAddress()
if ((await findToken()) === undefined) render(<TokenMissing />, document.body)
else {
  startNavigation()
  startPageKeys()
  startTabTitle()
  startNotifications()
  startLiveFeed()
  render(<App />, document.body)
}
