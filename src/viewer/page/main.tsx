import { render } from 'preact'
import { App, LetIn } from './app.tsx'
import { askWith } from './ask.ts'
import { startLiveFeed } from './live-feed.ts'
import { startNavigation } from './navigation.tsx'
import { startPageKeys } from './page-keys.ts'
import { startTabTitle } from './tab-title.ts'
import { findToken, watchAddress } from './token.ts'

watchAddress()
const token = await findToken()
if (token === undefined) render(<LetIn />, document.body)
else {
  askWith(token)
  startNavigation()
  startPageKeys()
  startTabTitle()
  startLiveFeed()
  render(<App />, document.body)
}
