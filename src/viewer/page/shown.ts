import { visibleText } from '../../reading/display-text.ts'

/** Any value of a span as visible text, without hidden characters and control sequences. */
export function visibleValue(value: unknown): string {
  return visibleText(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}
