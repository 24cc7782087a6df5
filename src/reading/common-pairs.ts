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
    const stretch = new EditSearch(a, b, from)
    stretch.findPath(mostEdits)
    for (const pair of stretch.pairs()) pairs.push(pair)
    from = stretch.end
  }
  return pairs
}

const NOWHERE = -1

/** Both lists from one pair of indices up to where the search ended. Indices inside are relative to that start. */
class EditSearch {
  readonly #a: readonly string[]
  readonly #b: readonly string[]
  readonly #from: Pair
  readonly #lengthA: number
  readonly #lengthB: number
  /** Per number of edits, the index in `a` reached on each diagonal (index in `a` minus index in `b`). */
  readonly #reached: Int32Array[] = []
  #best = 0

  constructor(a: readonly string[], b: readonly string[], from: Pair) {
    this.#a = a
    this.#b = b
    this.#from = from
    this.#lengthA = a.length - from[0]
    this.#lengthB = b.length - from[1]
  }

  findPath(mostEdits: number): void {
    for (let edits = 0; edits <= mostEdits; edits++) {
      const now = new Int32Array(edits + 1)
      let furthest = -1
      for (let index = 0; index <= edits; index++) {
        const diagonal = 2 * index - edits
        const x = this.#slide(this.#enter(index, edits), diagonal)
        now[index] = x
        if (x === NOWHERE || 2 * x - diagonal <= furthest) continue
        furthest = 2 * x - diagonal
        this.#best = index
      }
      this.#reached.push(now)
      if (furthest === this.#lengthA + this.#lengthB) return
    }
  }

  get end(): Pair {
    const x = this.#reached.at(-1)?.[this.#best] ?? 0
    const diagonal = 2 * this.#best - (this.#reached.length - 1)
    return [this.#from[0] + x, this.#from[1] + x - diagonal]
  }

  pairs(): Pair[] {
    const [fromA, fromB] = this.#from
    const pairs: Pair[] = []
    for (let [edits, index] = [this.#reached.length - 1, this.#best]; edits >= 0; edits--) {
      const diagonal = 2 * index - edits
      const entered = this.#enter(index, edits)
      for (let x = (this.#reached[edits]?.[index] ?? 0) - 1; x >= entered; x--) {
        pairs.push([fromA + x, fromB + x - diagonal])
      }
      if (edits > 0 && this.#skipA(index, edits) === entered) index -= 1
    }
    return pairs.reverse()
  }

  #enter(index: number, edits: number): number {
    return edits === 0 ? 0 : Math.max(this.#skipA(index, edits), this.#skipB(index, edits))
  }

  #skipA(index: number, edits: number): number {
    const x = this.#reached[edits - 1]?.[index - 1] ?? NOWHERE
    return x === NOWHERE || x >= this.#lengthA ? NOWHERE : x + 1
  }

  #skipB(index: number, edits: number): number {
    const x = this.#reached[edits - 1]?.[index] ?? NOWHERE
    return x === NOWHERE || x - (2 * index - edits) > this.#lengthB ? NOWHERE : x
  }

  #slide(from: number, diagonal: number): number {
    if (from === NOWHERE) return NOWHERE
    let x = from
    const [fromA, fromB] = this.#from
    while (x < this.#lengthA && x - diagonal < this.#lengthB && this.#a[fromA + x] === this.#b[fromB + x - diagonal])
      x++
    return x
  }
}
