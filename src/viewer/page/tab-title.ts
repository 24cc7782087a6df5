import { effect } from '@preact/signals'
import { connection, openTraces } from './state.ts'
import { tabTitle } from './urgency.ts'

/** Keeps the title of the browser tab up to date. Not an effect of a component: browsers delay these in a hidden tab. */
export function startTabTitle(): void {
  effect(() => {
    const isCut = connection.value === 'lost' || connection.value === 'refused'
    document.title = tabTitle(openTraces.value ?? [], !isCut)
  })
}
