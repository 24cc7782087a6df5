// No name of ours is longer, and the cost is quadratic.
const MAX_LENGTH = 60

/** The known name that was probably meant: few edits away, ignoring case and separators. Undefined if none is close. */
export function nearestName(unknown: string, known: readonly string[]): string | undefined {
  const wanted = fold(unknown)
  const allowed = Math.min(3, Math.floor(wanted.length / 3))
  let nearest: string | undefined
  let best = allowed + 1
  for (const name of known) {
    const folded = fold(name)
    if (Math.abs(folded.length - wanted.length) >= best) continue
    const distance = editDistance(wanted, folded, best - 1)
    if (distance < best) [nearest, best] = [name, distance]
  }
  return nearest
}

export function suggestion(unknown: string, known: readonly string[]): string | undefined {
  const name = nearestName(unknown, known)
  return name === undefined ? undefined : `did you mean ${name}?`
}

function fold(name: string): string {
  const lower = name.slice(0, MAX_LENGTH).toLowerCase()
  return lower.replace(/[^a-z0-9]/g, '')
}

/** Infinity as soon as more than `limit` edits are certain, which most pairs of names show in their first letters. */
function editDistance(from: string, to: string, limit: number): number {
  let [before, row]: [number[], number[]] = [[], Array.from({ length: to.length + 1 }, (_, column) => column)]
  let leastBefore = 0
  for (let line = 1; line <= from.length; line += 1) {
    const next = [line]
    let [left, least] = [line, line]
    for (let column = 1; column <= to.length; column += 1) {
      const changed = from[line - 1] === to[column - 1] ? 0 : 1
      const swapped = from[line - 1] === to[column - 2] && from[line - 2] === to[column - 1]
      left = Math.min(at(row, column) + 1, left + 1, at(row, column - 1) + changed)
      if (swapped) left = Math.min(left, at(before, column - 2) + 1)
      next.push(left)
      if (left < least) least = left
    }
    if (leastBefore > limit && least > limit) return Number.POSITIVE_INFINITY
    ;[before, row, leastBefore] = [row, next, least]
  }
  return at(row, to.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
