import { render } from 'preact'
import { App, LetIn } from './app.tsx'
import { askWith } from './ask.ts'
import { startNavigation } from './navigation.tsx'
import { startState } from './state.ts'
import { findToken } from './token.ts'

const token = await findToken()
if (token === undefined) render(<LetIn />, document.body)
else {
  askWith(token)
  startNavigation()
  startState()
  render(<App />, document.body)
}
