const BARS = '[━─╺╸╶╴╍╌]'
/** Rows of a tree: what is in front of the bar, and what is behind it. A bar is never right behind a branch. */
const ROW = new RegExp(`^(.*?[^ ├└│─])? {2,}${BARS}${BARS.slice(0, -1)} ]* {2,}(.*)$`)
const DURATION = /^\d[\d.]* (?:ms|s|min|h)\b */

/** Of a drawn tree, what is the same in every run: no times, no bars, no lines above and below it. */
export function shapeOf(drawn: string): string {
  return drawn
    .split('\n')
    .flatMap(line => {
      const [, label, rest = ''] = ROW.exec(line) ?? []
      return label === undefined ? [] : [`${label} ${rest.replace(DURATION, '').replace(/ {2,}/g, ' ')}`.trimEnd()]
    })
    .join('\n')
}
