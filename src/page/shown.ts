import { visibleText } from '../viewer/display-text.ts'

/** Any value of a span as text to be shown: nothing in it is hidden, and nothing acts. */
export function shown(value: unknown): string {
  return visibleText(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}
