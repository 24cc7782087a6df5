/** What the sweep watches: turns, and spans with a limit of their own. */
export interface Watched {
  /** The last sign of life by the records' own time, epoch ms. */
  activityAt: number
  /** When we saw it by the clock of this process, epoch ms. */
  seenAt: number
}

const NONE: readonly never[] = []

/**
 * Finds what has been silent for too long. Kept in order of the last touch, so a look costs nothing when nothing is due.
 * Records are judged by their own time, so a replay sweeps exactly as the live run did; the timer, which has no record,
 * by how long ago we saw the last one.
 */
export class OrphanSweep<Item extends Watched> {
  readonly #items = new Set<Item>()
  readonly #limitMillis: number
  /** Nothing can be due before: most looks end here. */
  #quietUntil = Number.POSITIVE_INFINITY

  constructor(limitMillis: number) {
    this.#limitMillis = limitMillis
  }

  get size(): number {
    return this.#items.size
  }

  touch(item: Item, at: number, seenAt: number): void {
    item.activityAt = Math.max(item.activityAt, at)
    item.seenAt = seenAt
    if (item.activityAt + this.#limitMillis < this.#quietUntil) this.#quietUntil = item.activityAt + this.#limitMillis
    this.#items.delete(item)
    this.#items.add(item)
  }

  forget(item: Item): void {
    this.#items.delete(item)
  }

  /** The one that was touched longest ago. */
  oldest(): Item | undefined {
    return this.#items.values().next().value
  }

  dueAt(at: number): readonly Item[] {
    if (at <= this.#quietUntil) return NONE
    const due = this.#take(item => at - item.activityAt > this.#limitMillis)
    this.#quietUntil = Number.POSITIVE_INFINITY
    for (const { activityAt } of this.#items) {
      this.#quietUntil = activityAt + this.#limitMillis
      break
    }
    return due
  }

  dueSeen(now: number): readonly Item[] {
    return this.#take(item => now - item.seenAt > this.#limitMillis)
  }

  #take(isDue: (item: Item) => boolean): Item[] {
    const due: Item[] = []
    for (const item of this.#items) {
      if (!isDue(item)) break
      due.push(item)
    }
    for (const item of due) this.#items.delete(item)
    return due
  }
}
