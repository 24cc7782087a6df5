interface Line {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}

const CONTEXT_LINES = 2
/** Above it, what lies between the first and the last change is shown as replaced: comparing costs the product. */
const MOST_PAIRS = 4_000_000
const SECRET = /("[^"]*(?:key|token|secret|passw|auth|credential)[^"]*"\s*:\s*)"(?:[^"\\]|\\.)*"/gi
const COLORS = { '-': '\u001b[31m', '+': '\u001b[32m', ' ': '' } as const
const PLAIN = '\u001b[39m'

/**
 * What changes, line by line, with a little of what is around it; `''` when nothing does. What looks like a secret by
 * its name is hidden: the lines are made to be shown.
 */
export function lineDiff(before: string, after: string, color: boolean): string {
  const lines = compare(linesOf(before), linesOf(after))
  const isShown = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1).some(({ sign }) => sign !== ' '),
  )
  return lines
    .map((line, index) => {
      if (isShown[index]) return draw(line, color)
      return isShown[index - 1] ? '  …\n' : ''
    })
    .join('')
    .replace(/ {2}…\n$/, '')
}

function draw({ sign, text }: Line, color: boolean): string {
  const line = `${sign} ${text.replace(SECRET, '$1"***"')}`.trimEnd()
  return color && sign !== ' ' ? `${COLORS[sign]}${line}${PLAIN}\n` : `${line}\n`
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/)
}

function compare(before: string[], after: string[]): Line[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const most = Math.min(before.length, after.length) - start
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end++
  const [old, young] = [before.slice(start, before.length - end), after.slice(start, after.length - end)]
  const same = (lines: string[]): Line[] => lines.map(text => ({ sign: ' ', text }))
  return [...same(before.slice(0, start)), ...middle(old, young), ...same(before.slice(before.length - end))]
}

/** By the longest common subsequence. */
function middle(before: string[], after: string[]): Line[] {
  if (before.length * after.length > MOST_PAIRS) return replaced(before, after)
  const width = after.length + 1
  const common = new Uint32Array((before.length + 1) * width)
  const at = (row: number, column: number): number => common[row * width + column] ?? 0
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      const isSame = before[row] === after[column]
      common[row * width + column] = isSame
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const lines: Line[] = []
  let [row, column] = [0, 0]
  while (row < before.length && column < after.length) {
    if (before[row] === after[column]) {
      lines.push({ sign: ' ', text: before[row++] ?? '' })
      column++
    } else if (at(row + 1, column) >= at(row, column + 1)) lines.push({ sign: '-', text: before[row++] ?? '' })
    else lines.push({ sign: '+', text: after[column++] ?? '' })
  }
  return [...lines, ...replaced(before.slice(row), after.slice(column))]
}

function replaced(before: string[], after: string[]): Line[] {
  const old = before.map((text): Line => ({ sign: '-', text }))
  return [...old, ...after.map((text): Line => ({ sign: '+', text }))]
}
