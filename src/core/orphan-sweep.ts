/** What the sweep watches: turns, and spans with a limit of their own. */
export interface Watched {
  /** The last sign of life by the records' own time, epoch ms. */
  activityAt: number
  /** When we saw it by the clock of this process, epoch ms. */
  seenAt: number
}

interface Link<Item> {
  readonly item: Item
  before: Link<Item> | undefined
  after: Link<Item> | undefined
}

const NONE: readonly never[] = []

/**
 * Finds what has been silent for too long. Kept in order of the last touch, so a look costs nothing when nothing is due.
 * Records are judged by their own time, so a replay sweeps exactly as the live run did; the timer, which has no record,
 * by how long ago we saw the last one.
 *
 * A linked list, because every hook moves an item to its end: a Set would be rebuilt all the time.
 */
export class OrphanSweep<Item extends Watched> {
  readonly #links = new Map<Item, Link<Item>>()
  readonly #limitMillis: number
  #first: Link<Item> | undefined
  #last: Link<Item> | undefined
  /** Nothing can be due before: most looks end here. */
  #quietUntil = Number.POSITIVE_INFINITY

  constructor(limitMillis: number) {
    this.#limitMillis = limitMillis
  }

  get size(): number {
    return this.#links.size
  }

  touch(item: Item, at: number, seenAt: number): void {
    if (at > item.activityAt) item.activityAt = at
    item.seenAt = seenAt
    const dueAt = item.activityAt + this.#limitMillis
    if (dueAt < this.#quietUntil) this.#quietUntil = dueAt
    if (this.#last?.item === item) return
    let link = this.#links.get(item)
    if (link === undefined) {
      link = { item, before: undefined, after: undefined }
      this.#links.set(item, link)
    } else this.#unlink(link)
    this.#append(link)
  }

  items(): Iterable<Item> {
    return this.#links.keys()
  }

  forget(item: Item): void {
    const link = this.#links.get(item)
    if (link === undefined) return
    this.#links.delete(item)
    this.#unlink(link)
  }

  /** The one that was touched longest ago. */
  oldest(): Item | undefined {
    return this.#first?.item
  }

  dueAt(at: number): readonly Item[] {
    if (at <= this.#quietUntil) return NONE
    const due = this.#take(item => at - item.activityAt > this.#limitMillis)
    this.#quietUntil =
      this.#first === undefined ? Number.POSITIVE_INFINITY : this.#first.item.activityAt + this.#limitMillis
    return due
  }

  dueSeen(now: number): readonly Item[] {
    return this.#take(item => now - item.seenAt > this.#limitMillis)
  }

  #take(isDue: (item: Item) => boolean): Item[] {
    const due: Item[] = []
    for (let link = this.#first; link !== undefined && isDue(link.item); link = link.after) due.push(link.item)
    for (const item of due) this.forget(item)
    return due
  }

  #append(link: Link<Item>): void {
    link.before = this.#last
    link.after = undefined
    if (this.#last === undefined) this.#first = link
    else this.#last.after = link
    this.#last = link
  }

  #unlink(link: Link<Item>): void {
    if (link.before === undefined) this.#first = link.after
    else link.before.after = link.after
    if (link.after === undefined) this.#last = link.before
    else link.after.before = link.before
  }
}
