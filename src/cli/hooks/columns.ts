import { displayText } from '../../reading/display-text.ts'
import { clipToWidth, displayWidth, padEndToWidth } from '../../reading/display-width.ts'

const MAX_CELLS = 120

/**
 * Formats rows below a header, each column as wide as its widest cell. Untrusted text is escaped, so that it cannot move the
 * cursor. Lines end with a line break.
 */
export function columns(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows.map(row => row.map(cell => clipToWidth(displayText(cell), MAX_CELLS)))]
  const widths = head.map((_, at) => Math.max(...cells.map(row => displayWidth(row[at] ?? ''))))
  return cells
    .map(row => `  ${row.map((cell, at) => padEndToWidth(cell, widths[at] ?? 0)).join('  ')}`.trimEnd())
    .map(line => `${line}\n`)
    .join('')
}
