export interface SweepItem {
  /** Last activity by the records' time, and (`seenAt`) by the clock of this process, epoch ms. */
  activityAt: number
  seenAt: number
}

interface Link<Item> {
  readonly item: Item
  before: Link<Item> | undefined
  after: Link<Item> | undefined
}

const NONE: readonly never[] = []

/**
 * Finds items that have been silent for too long. Items are in order of the last touch, so a look costs nothing if none
 * is due. By a record's time, a replay expires items exactly as the live run did. The timer has no record and goes by
 * the time at which this process last saw each item.
 *
 * A linked list, because every hook moves an item to its end: a Set would be rebuilt all the time.
 */
export class OrphanSweep<Item extends SweepItem> {
  readonly #links = new Map<Item, Link<Item>>()
  readonly #limitMillis: number
  readonly #isPatientWith: ((item: Item) => boolean) | undefined
  readonly #patient: OrphanSweep<Item> | undefined
  #first: Link<Item> | undefined
  #last: Link<Item> | undefined
  /** No item can be due before this time: most looks end here. */
  #quietUntil = Number.POSITIVE_INFINITY

  /** @param patience a longer limit for items that have a reason to be silent */
  constructor(limitMillis: number, patience?: { limitMillis: number; isFor: (item: Item) => boolean }) {
    this.#limitMillis = limitMillis
    this.#isPatientWith = patience?.isFor
    this.#patient = patience && new OrphanSweep(patience.limitMillis)
  }

  touch(item: Item, at: number, seenAt: number): void {
    if (at > item.activityAt) item.activityAt = at
    item.seenAt = seenAt
    this.#patient?.forget(item)
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

  *items(): Generator<Item> {
    yield* this.#links.keys()
    if (this.#patient !== undefined) yield* this.#patient.items()
  }

  forget(item: Item): void {
    const link = this.#links.get(item)
    if (link === undefined) {
      this.#patient?.forget(item)
      return
    }
    this.#links.delete(item)
    this.#unlink(link)
  }

  /** Puts an item that has no more reason to be silent back under the short limit. */
  hasten(item: Item): void {
    if (this.#patient?.has(item)) this.touch(item, item.activityAt, item.seenAt)
  }

  has(item: Item): boolean {
    return this.#links.has(item) || this.#patient?.has(item) === true
  }

  oldest(): Item | undefined {
    return this.#patient?.oldest() ?? this.#first?.item
  }

  /** Removes the items that were silent for too long at `now`, by a record's time or by our clock, and returns them. */
  due(now: number, by: keyof SweepItem): readonly Item[] {
    const isByRecord = by === 'activityAt'
    if (isByRecord && now <= this.#quietUntil) return this.#patient?.due(now, by) ?? NONE
    const due: Item[] = []
    for (let link = this.#first; link !== undefined; link = link.after) {
      if (!(now - link.item[by] > this.#limitMillis)) break
      due.push(link.item)
    }
    for (const item of due) this.forget(item)
    if (isByRecord) this.#quietUntil = this.#firstDueAt
    const patient = this.#patient
    if (patient === undefined) return due
    const impatient = due.filter(item => {
      if (!this.#isPatientWith?.(item)) return true
      patient.touch(item, item.activityAt, item.seenAt)
      return false
    })
    return [...impatient, ...patient.due(now, by)]
  }

  get #firstDueAt(): number {
    return (this.#first?.item.activityAt ?? Number.POSITIVE_INFINITY) + this.#limitMillis
  }

  #append(link: Link<Item>): void {
    link.before = this.#last
    link.after = undefined
    if (this.#last === undefined) this.#first = link
    else this.#last.after = link
    this.#last = link
  }

  #unlink(link: Link<Item>): void {
    if (link.before === undefined) {
      this.#first = link.after
      // The next item may be due earlier: records of several sessions are not in order of their time.
      if (this.#firstDueAt < this.#quietUntil) this.#quietUntil = this.#firstDueAt
    } else link.before.after = link.after
    if (link.after === undefined) this.#last = link.before
    else link.after.before = link.before
  }
}
