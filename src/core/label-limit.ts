import { CLOSED_LABELS } from '../semconv/index.ts'

/** Value that stands in for those beyond the limit. */
const OTHER = 'other'

/**
 * Keeps metrics low-cardinality whatever hosts send: each label keeps its first `limit` values, the rest become `other`.
 * A limit of 0 means none.
 */
export class LabelLimit {
  readonly #limit: number
  readonly #seen = new Map<string, Set<string>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** The labels themselves when every value is within the limit, so that the common case allocates nothing. */
  apply(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    let limited: Record<string, string> | undefined
    for (const key in labels) {
      const value = labels[key] as string
      if (this.#admits(key, value)) continue
      limited ??= { ...labels }
      limited[key] = OTHER
    }
    return limited ?? labels
  }

  #admits(key: string, value: string): boolean {
    if (this.#limit === 0 || CLOSED_LABELS.has(key)) return true
    let seen = this.#seen.get(key)
    if (seen === undefined) {
      seen = new Set()
      this.#seen.set(key, seen)
    }
    if (seen.has(value)) return true
    if (seen.size >= this.#limit) return false
    seen.add(value)
    return true
  }
}
