import { effect } from '@preact/signals'
import type { OpenTrace } from '../view/api.ts'
import { type ConnectionState, connection, openTraces } from './state.ts'
import { countOpen } from './urgency.ts'

/** `(1) waiting for you · hookspan`. A tab that is not connected cannot know what is open, so it says that alone. */
export function titleOf(state: ConnectionState, open: readonly OpenTrace[]): string {
  const { living, waiting } = countOpen(open)
  const what = waiting > 0 ? `(${waiting}) waiting for you` : living > 0 ? `${living} open` : ''
  const said = state === 'lost' || state === 'refused' ? 'not connected' : what
  return said === '' ? 'hookspan' : `${said} · hookspan`
}

/** Keeps the title of the browser's tab right. Not an effect of a component: browsers delay these in a hidden tab. */
export function startTabTitle(): void {
  effect(() => {
    document.title = titleOf(connection.value, openTraces.value ?? [])
  })
}
