const MAX_EDITS = 500

export type Pair = readonly [a: number, b: number]

/**
 * Pairs of a longest common subsequence, ascending in both lists, by Myers' greedy search. If the lists differ in more than
 * `mostEdits` consecutive places, the furthest path is kept and the search continues from there. The pairs are then common, but
 * not the most possible. The cost is at most the length times `mostEdits`, never the product of the lengths.
 */
export function commonPairs(a: readonly string[], b: readonly string[], mostEdits: number = MAX_EDITS): Pair[] {
  const pairs: Pair[] = []
  for (let from: Pair = [0, 0]; from[0] < a.length && from[1] < b.length; ) {
    const stretch = searchEdits(a, b, from, mostEdits)
    for (const pair of stretch.pairs.reverse()) pairs.push(pair)
    from = stretch.end
  }
  return pairs
}

const NOWHERE = -1

/** Both lists from one pair of indices up to where the search ended, its pairs last first. `x`, an index in `a`, counts from there. */
function searchEdits(a: readonly string[], b: readonly string[], [fromA, fromB]: Pair, mostEdits: number) {
  const [lengthA, lengthB] = [a.length - fromA, b.length - fromB]
  /** Per number of edits, the `x` reached on each diagonal (index in `a` minus index in `b`). */
  const reached: Int32Array[] = []
  let [best, furthest] = [0, -1]
  for (let edits = 0; edits <= mostEdits && furthest < lengthA + lengthB; edits++) {
    const now = new Int32Array(edits + 1)
    furthest = -1
    for (let index = 0; index <= edits; index++) {
      const diagonal = 2 * index - edits
      const x = slide(enter(index, edits), diagonal)
      now[index] = x
      if (x === NOWHERE || 2 * x - diagonal <= furthest) continue
      furthest = 2 * x - diagonal
      best = index
    }
    reached.push(now)
  }
  const x = reached.at(-1)?.[best] ?? 0
  const end: Pair = [fromA + x, fromB + x - (2 * best - (reached.length - 1))]
  return { end, pairs: pairsOnPath() }

  function pairsOnPath(): Pair[] {
    const pairs: Pair[] = []
    for (let [edits, index] = [reached.length - 1, best]; edits >= 0; edits--) {
      const diagonal = 2 * index - edits
      const entered = enter(index, edits)
      for (let x = (reached[edits]?.[index] ?? 0) - 1; x >= entered; x--) pairs.push([fromA + x, fromB + x - diagonal])
      if (edits > 0 && skipA(index, edits) === entered) index -= 1
    }
    return pairs
  }

  function enter(index: number, edits: number): number {
    return edits === 0 ? 0 : Math.max(skipA(index, edits), skipB(index, edits))
  }

  function skipA(index: number, edits: number): number {
    const x = reached[edits - 1]?.[index - 1] ?? NOWHERE
    return x === NOWHERE || x >= lengthA ? NOWHERE : x + 1
  }

  function skipB(index: number, edits: number): number {
    const x = reached[edits - 1]?.[index] ?? NOWHERE
    return x === NOWHERE || x - (2 * index - edits) > lengthB ? NOWHERE : x
  }

  function slide(from: number, diagonal: number): number {
    if (from === NOWHERE) return NOWHERE
    let x = from
    while (x < lengthA && x - diagonal < lengthB && a[fromA + x] === b[fromB + x - diagonal]) x++
    return x
  }
}
