import { LimitedMap } from '../hosts/base/limited-map.ts'
import type { Delivery } from '../hosts/inlet.ts'
import type { Counts, Refusal } from './counts.ts'
import type { EventSpool, SpooledEvent } from './event-spool.ts'
import type { Limits } from './limits.ts'
import type { Recorder } from './recorder.ts'
import type { ReceivedRequest, RequestJournal } from './request-journal.ts'
import { SpoolDrain } from './spool-drain.ts'
import { type Endpoint, type Remark, WorkQueue } from './work-queue.ts'

export interface IntakeOptions {
  readonly endpoints: ReadonlyMap<string, Endpoint>
  readonly recorder: Pick<Recorder, 'take' | 'journalled'>
  readonly requests: RequestJournal
  readonly spool: EventSpool
  readonly limits: Limits
  readonly counts: Counts
  /** Called for each delivery that is no repeat. */
  onDelivery(): void
  /** An inlet, against its contract, threw or did not come to an end. */
  onBroken(endpoint: Endpoint, error: unknown): void
  refuse(why: Refusal): void
}

/**
 * Takes deliveries, each once, in this order: requests that an earlier receiver accepted and did not work off, what lies in the spool
 * at the start, and what is sent meanwhile and later. A request stays in the request journal, and a file in the spool, until all that
 * follows from it is in the journal of events.
 */
export class Intake {
  readonly #options: IntakeOptions
  readonly #queue: WorkQueue
  readonly #spoolDrain: SpoolDrain
  /** Ids of deliveries by their path. */
  readonly #seen: LimitedMap<string, true>
  /** What was sent before the spool was read for the first time, by path and id; undefined from then on. */
  #early: Map<unknown, () => void> | undefined = new Map()

  constructor(options: IntakeOptions) {
    this.#options = options
    const { recorder, limits, spool, refuse } = options
    this.#queue = new WorkQueue(recorder, options.onBroken, limits.moreMillis)
    this.#seen = new LimitedMap(limits.deliveries)
    this.#spoolDrain = new SpoolDrain({ spool, refuse, take: (event, done) => this.#takeSpooled(event, done) })
  }

  get isIdle(): boolean {
    return this.#queue.isIdle
  }

  get waiting(): number {
    return this.#queue.waiting + (this.#early?.size ?? 0)
  }

  /** Takes what an earlier receiver left in the request journal. @param deliveriesOf throws if a request cannot be read */
  recover(deliveriesOf: (request: ReceivedRequest) => readonly Delivery[]): void {
    for (const { request, settle } of this.#options.requests.takeRecovered()) {
      try {
        const deliveries = deliveriesOf(request)
        this.#takeAll(request.path, deliveries, this.#afterwards(settle), (_key, push) => push())
      } catch {
        this.#options.counts.unreadable++
        settle()
      }
    }
  }

  /** Takes a request. It is in the request journal when this returns. `done`: nothing of it is held in memory any more. */
  take(request: ReceivedRequest, deliveries: readonly Delivery[], done: () => void): void {
    const settled = deliveries.length === 0 ? undefined : this.#afterwards(this.#options.requests.add(request))
    const both = (): void => {
      done()
      settled?.()
    }
    this.#takeAll(request.path, deliveries, both, (key, push) => this.#whenReady(key, push))
  }

  remark(remark: Remark): void {
    this.#whenReady(Symbol(), () => this.#queue.push(remark))
  }

  /** Takes what lies in the spool. */
  drainSpool(): void {
    void this.#spoolDrain.run().then(() => this.#takeEarly())
  }

  /** Resolves when everything taken is with the recorder; what still lies in the spool stays there. */
  async workedOff(): Promise<void> {
    await this.#spoolDrain.stop()
    this.#takeEarly()
    await this.#queue.drained()
  }

  #takeAll(
    path: string,
    deliveries: readonly Delivery[],
    done: () => void,
    schedule: (key: string | undefined, push: () => void) => void,
  ): void {
    const endpoint = this.#options.endpoints.get(path)
    let waiting = deliveries.length
    if (waiting === 0) done()
    const oneDone = (): void => {
      if (--waiting === 0) done()
    }
    for (const delivery of deliveries) {
      const key = keyOf(path, delivery)
      if (endpoint === undefined || this.#isRepeated(key)) oneDone()
      else {
        this.#count()
        schedule(key, () => this.#queue.push({ endpoint, delivery, done: oneDone }))
      }
    }
  }

  #takeSpooled({ path, delivery }: SpooledEvent, done: () => void): void {
    const endpoint = this.#options.endpoints.get(path)
    const key = keyOf(path, delivery)
    const settled = this.#afterwards(done)
    if (endpoint === undefined) done()
    else if (this.#isRepeated(key)) {
      // Its client sent it, too, and did not get the answer: its turn is now, not behind all of the spool.
      this.#early?.get(key)?.()
      this.#early?.delete(key)
      settled()
    } else {
      this.#count()
      this.#options.counts.spooled++
      this.#queue.push({ endpoint, delivery, done: settled })
    }
  }

  /** Runs it now, or when the spool has been read for the first time. */
  #whenReady(key: unknown, push: () => void): void {
    if (this.#early === undefined) push()
    else this.#early.set(key ?? Symbol(), push)
  }

  #takeEarly(): void {
    for (const push of this.#early?.values() ?? []) push()
    this.#early = undefined
  }

  #count(): void {
    this.#options.counts.deliveries++
    this.#options.onDelivery()
  }

  /** Calls when all that the recorder has been given until then is journalled. */
  #afterwards(settle: () => void): () => void {
    return () => void this.#options.recorder.journalled().then(settle)
  }

  #isRepeated(key: string | undefined): boolean {
    if (key === undefined) return false
    const isRepeated = this.#seen.has(key)
    if (isRepeated) this.#options.counts.duplicates++
    else this.#seen.set(key, true)
    return isRepeated
  }
}

function keyOf(path: string, { id }: Delivery): string | undefined {
  return id === undefined ? undefined : `${path} ${id}`
}
