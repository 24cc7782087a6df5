import { render } from 'preact'
import { App, TokenMissing } from './app.tsx'
import { setToken } from './ask.ts'
import { startLiveFeed } from './live-feed.ts'
import { startNavigation } from './navigation.tsx'
import { startPageKeys } from './page-keys.ts'
import { startTabTitle } from './tab-title.ts'
import { findToken, watchAddress } from './token.ts'

watchAddress()
const token = await findToken()
if (token === undefined) render(<TokenMissing />, document.body)
else {
  setToken(token)
  startNavigation()
  startPageKeys()
  startTabTitle()
  startLiveFeed()
  render(<App />, document.body)
}
